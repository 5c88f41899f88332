/** What JSON can say. Source positions and sink positions are such values, so that a checkpoint can carry them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
