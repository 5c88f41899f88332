import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { AssignerProtocol, type Cluster, type GroupMember, type PartitionMetadata } from "kafkajs";
import { createStickyAssigner } from "../../actors/adapters/kafka/sticky_assigner.ts";

const { MemberMetadata, MemberAssignment } = AssignerProtocol;

function clusterOf(
  partitions: Readonly<Record<string, number>>,
): Pick<Cluster, "findTopicPartitionMetadata"> {
  return {
    findTopicPartitionMetadata: (topic) =>
      Array.from(
        { length: partitions[topic] ?? 0 },
        (_, partitionId) => ({ partitionId }) as PartitionMetadata,
      ),
  };
}

function memberOf(memberId: string, userData: string | Uint8Array, topics = ["t"]): GroupMember {
  return {
    memberId,
    memberMetadata: MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(userData) }),
  };
}

/** What the leader gives to each. */
async function assigned(
  members: GroupMember[],
  partitions: Readonly<Record<string, number>> = { t: 4 },
): Promise<Record<string, unknown>> {
  const nobody = { generation: -1, topic: "t", partitions: [] };
  const assigner = createStickyAssigner(clusterOf(partitions), () => nobody);
  const assignments = await assigner.assign({ members, topics: Object.keys(partitions) });
  return Object.fromEntries(
    assignments.map(({ memberId, memberAssignment }) => [
      memberId,
      { ...MemberAssignment.decode(memberAssignment)?.assignment },
    ]),
  );
}

Deno.test("sticky_assigner: a member says what it has, anew at each join, and the leader leaves it there", async () => {
  let partitions = [0];
  const assigner = createStickyAssigner(
    clusterOf({ t: 4 }),
    () => ({ generation: 3, topic: "t", partitions }),
  );
  partitions = [1, 3];
  const { name, metadata } = assigner.protocol({ topics: ["t"] });
  strictEqual(name, assigner.name);
  deepStrictEqual(MemberMetadata.decode(metadata)?.topics, ["t"]);
  const members = [{ memberId: "b", memberMetadata: metadata }, memberOf("a", "")];
  deepStrictEqual(await assigned(members), { a: { t: [0, 2] }, b: { t: [1, 3] } });
});

for (
  const userData of [
    "",
    "{",
    "null",
    "7",
    "{}",
    '{"generation":1}',
    '{"generation":"1","partitions":{"t":[3]}}',
    '{"generation":1,"partitions":{"t":"3"}}',
    '{"generation":1,"partitions":{"__proto__":[3]}}',
    '{"generation":1,"partitions":{"t":[null,"3",0.5,1e99]}}',
    Uint8Array.of(0xff, 0xfe, 0x00),
  ]
) {
  Deno.test(`sticky_assigner: a member that says ${JSON.stringify(userData)} holds nothing and is given its share`, async () => {
    const holder = memberOf("a", '{"generation":1,"partitions":{"t":[0,1,2,3]}}');
    deepStrictEqual(await assigned([holder, memberOf("b", userData)]), {
      a: { t: [0, 1] },
      b: { t: [2, 3] },
    });
  });
}

Deno.test("sticky_assigner: a topic is divided among those that read it", async () => {
  const members = [memberOf("a", "", ["t", "u"]), memberOf("b", "", ["u"]), memberOf("c", "", ["other"])];
  deepStrictEqual(await assigned(members, { t: 2, u: 2 }), {
    a: { t: [0, 1], u: [0] },
    b: { u: [1] },
    c: {},
  });
});

Deno.test("sticky_assigner: a topic that nobody reads, and more members than partitions, are nothing special", async () => {
  const given = await assigned([memberOf("a", ""), memberOf("b", "")], { t: 1, u: 3 });
  deepStrictEqual(given, { a: { t: [0] }, b: { t: [] } });
  ok(!("u" in given));
});
