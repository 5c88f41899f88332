/**
 * A rule of Prometheus's.
 *
 * @module
 */

/** An alert. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** How long it must hold. */
  readonly for: string;
  readonly severity: "critical" | "warning";
  readonly summary: string;
  readonly description: string;
  /** What to do. */
  readonly action: string;
}
