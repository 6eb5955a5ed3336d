/**
 * Conditional guardrails: the first that refuses ends the call (`contract/middleware.md` §1.4). Each has a scope of its own
 * when somebody subscribes.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import { isPending } from './awaiting.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Verdict } from './contract.ts'
import { nameOf } from './failures.ts'
import type { Entries, Entry } from './registry.ts'
import { GuardrailRejected } from './rejected.ts'
import { ScopeNode } from './scope.ts'

/** Rejects with `GuardrailRejected`, or as a guardrail that fails closed rejects. */
export async function passGuardrails<View>(
  run: CallRun,
  entries: Entries<(view: View) => Awaitable<Verdict>>,
  viewIn: (scope: ScopeNode) => View,
): Promise<void> {
  const told = run.scope.snapshot.subscribers.length > 0
  for (const entry of entries) {
    const reason = told
      ? await askInScope(run, entry, viewIn)
      : await ask(run, entry, viewIn(run.scope), () => undefined)
    if (typeof reason === 'string') throw new GuardrailRejected(entry.name, reason)
  }
}

async function ask<View>(
  run: CallRun,
  entry: Entry<(view: View) => Awaitable<Verdict>>,
  view: View,
  tell: (data: unknown) => void,
): Promise<Verdict> {
  try {
    const answer = entry.callback(view)
    const verdict = isPending(answer) ? await answer : answer
    if (verdict !== undefined && verdict !== null && typeof verdict !== 'string')
      throw new HermesError('middleware/bad-return', `The guardrail ${nameOf(entry)} returned neither a text nor null.`)
    tell(
      typeof verdict === 'string'
        ? { allowed: false, rejected: true, rejection_reason: verdict }
        : { allowed: true, rejected: false },
    )
    return verdict
  } catch (error) {
    tell({ allowed: entry.failsOpen, error: messageOf(error) })
    run.room.culprits.met(error, entry)
    if (!entry.failsOpen) throw error
    run.throwIfAborted(error)
    run.room.failures.tell(entry, `a ${run.kind} guardrail`, error, 'the call goes on without it')
    return null
  }
}

async function askInScope<View>(
  run: CallRun,
  entry: Entry<(view: View) => Awaitable<Verdict>>,
  viewIn: (scope: ScopeNode) => View,
): Promise<Verdict> {
  const { room, scope } = run
  const { teller, ground, storage } = room
  const audience = scope.snapshot
  const node = new ScopeNode(ground, entry.name, 'guardrail', scope, room.now(), true)
  const kind = run.kind === 'tool' ? 'tool_conditional_execution' : 'llm_conditional_execution'
  const target = run.kind === 'tool' ? { target_name: run.name } : {}
  const told = { profile: null, metadata: run.metadata }
  teller.start(audience, node, [], { ...told, data: { kind, ...target } })
  try {
    const verdict = await storage.run(node, () =>
      ask(run, entry, viewIn(node), (data) => teller.end(audience, node, [], { ...told, data })),
    )
    if (typeof verdict === 'string') {
      const data = { rejected: true, rejection_reason: verdict }
      teller.mark(audience, scope, { ...told, name: run.name, category: run.category, data })
    }
    return verdict
  } finally {
    node.close()
  }
}
