/**
 * Opens a scope around some work and closes it when the work has settled.
 */
import type { Scope, ScopeSpec } from './contract.ts'
import { failureMetadata, successMetadata } from './otel-status.ts'
import type { PipelineContext } from './pipeline-context.ts'
import { ScopeNode, toScopeNode } from './scope.ts'

/** Rejects as the work rejects, with the very same error. */
export async function runScope<Value>(
  context: PipelineContext,
  { name, type = 'function', input = null, metadata = {} }: ScopeSpec,
  parent: Scope | null,
  work: (scope: Scope) => Promise<Value>,
): Promise<Value> {
  const { scopeStorage, publisher, scopeContext, now, neverSignal } = context
  const node = new ScopeNode(scopeContext, name, type, parent === null ? undefined : toScopeNode(parent), now(), true)
  const told = { profile: null, metadata }
  // What will be registered on the scope sees its end, not its start.
  const recipients = node.snapshot
  if (recipients.subscribers.length > 0) publisher.start(recipients, node, [], { ...told, data: input })
  const end = (statusMetadata: typeof metadata) => {
    const last = node.snapshot
    if (last.subscribers.length > 0)
      publisher.end(last, node, [], { profile: null, data: null, metadata: { ...metadata, ...statusMetadata } })
    node.close()
  }
  try {
    const value = await scopeStorage.run(node, () => work(node))
    end(successMetadata)
    return value
  } catch (error) {
    end(failureMetadata(error, neverSignal))
    throw error
  }
}
