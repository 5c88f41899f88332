/**
 * kafkajs' side of {@link assignSticky}: each member tells the leader what it has read last, in the user data of its
 * request to join; the leader divides.
 *
 * User data: `{"generation":7,"partitions":{"<topic>":[0,3]}}`, UTF-8, read anew at each join. A member without it, or
 * with something else in it, holds nothing and is given its share. All members of a group need an assigner of one name
 * in common, so a foreign consumer in it is refused by the broker (`INCONSISTENT_GROUP_PROTOCOL`), which is as well: it
 * would be given partitions that nobody then guards. Change the name when the meaning of the user data changes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { type Assigner, AssignerProtocol, type Cluster, type GroupMember } from "kafkajs";
import { assignSticky, type StickyMember } from "../../../lib/sticky_assignment.ts";

const NAME = "FencepostSticky";
const VERSION = 1;

/** What this member had in its last generation. */
export interface Held {
  /** −1 before the first. */
  readonly generation: number;
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** The part of kafkajs' cluster that the leader asks. */
type TopicMetadata = Pick<Cluster, "findTopicPartitionMetadata">;

/**
 * Makes an assigner.
 *
 * @param cluster knows the topics' partitions
 * @param held asked at each join
 */
export function createStickyAssigner(cluster: TopicMetadata, held: () => Held): Assigner {
  return {
    name: NAME,
    version: VERSION,
    protocol: ({ topics }) => ({
      name: NAME,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: encodeHeld(held()),
      }),
    }),
    assign: ({ members, topics }) => Promise.resolve(divide(cluster, members, topics)),
  };
}

function divide(
  cluster: TopicMetadata,
  members: readonly GroupMember[],
  topics: readonly string[],
): { memberId: string; memberAssignment: Buffer }[] {
  const assignments = new Map<string, Record<string, number[]>>(
    members.map(({ memberId }) => [memberId, {}]),
  );
  for (const topic of topics) {
    const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
    const readers = members.flatMap((member) => readerOf(member, topic) ?? []);
    for (const [memberId, mine] of assignSticky(partitions, readers)) {
      const assignment = assignments.get(memberId);
      if (assignment !== undefined) assignment[topic] = [...mine];
    }
  }
  return [...assignments].map(([memberId, assignment]) => ({
    memberId,
    memberAssignment: AssignerProtocol.MemberAssignment.encode({
      version: VERSION,
      assignment,
      userData: Buffer.alloc(0),
    }),
  }));
}

/** Null where it doesn't read the topic. */
function readerOf({ memberId, memberMetadata }: GroupMember, topic: string): StickyMember | null {
  const metadata = AssignerProtocol.MemberMetadata.decode(memberMetadata);
  if (metadata === null || !metadata.topics.includes(topic)) return null;
  return { id: memberId, ...decodeHeld(metadata.userData, topic) };
}

function encodeHeld({ generation, topic, partitions }: Held): Buffer {
  return Buffer.from(JSON.stringify({ generation, partitions: { [topic]: partitions } }));
}

/** Written by another process, perhaps of another version: nothing in it is taken for granted. */
function decodeHeld(userData: Uint8Array, topic: string): Pick<StickyMember, "generation" | "partitions"> {
  const nothing = { generation: -1, partitions: [] };
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(userData));
  } catch {
    return nothing;
  }
  const generation = memberOf(json, "generation");
  const partitions = memberOf(memberOf(json, "partitions"), topic);
  if (typeof generation !== "number" || !Array.isArray(partitions)) return nothing;
  return { generation, partitions: partitions.filter((partition) => Number.isSafeInteger(partition)) };
}

function memberOf(json: unknown, name: string): unknown {
  if (typeof json !== "object" || json === null || !Object.hasOwn(json, name)) return undefined;
  return Object.getOwnPropertyDescriptor(json, name)?.value;
}
