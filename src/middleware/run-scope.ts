/**
 * Opens a scope around some work and closes it when the work has settled.
 */
import type { Scope, ScopeSpec } from './contract.ts'
import { failureMetadata, successMetadata } from './endings.ts'
import type { Room } from './room.ts'
import { nodeOf, ScopeNode } from './scope.ts'

/** Rejects as the work rejects, with the very same error. */
export async function runScope<Value>(
  room: Room,
  { name, type = 'function', input = null, metadata = {} }: ScopeSpec,
  parent: Scope | null,
  work: (scope: Scope) => Promise<Value>,
): Promise<Value> {
  const { storage, teller, ground, now, never } = room
  const node = new ScopeNode(ground, name, type, parent === null ? undefined : nodeOf(parent), now(), true)
  const told = { profile: null, metadata }
  // What will be registered on the scope sees its end, not its start.
  const audience = node.snapshot
  if (audience.subscribers.length > 0) teller.start(audience, node, [], { ...told, data: input })
  const end = (ending: typeof metadata) => {
    const last = node.snapshot
    if (last.subscribers.length > 0)
      teller.end(last, node, [], { profile: null, data: null, metadata: { ...metadata, ...ending } })
    node.close()
  }
  try {
    const value = await storage.run(node, () => work(node))
    end(successMetadata)
    return value
  } catch (error) {
    end(failureMetadata(error, never))
    throw error
  }
}
