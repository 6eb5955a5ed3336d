/**
 * Guardrails: the first that rejects ends the call (`contract/middleware.md` §1.4). With subscribers, each guardrail runs in a
 * scope of its own.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, GuardrailDecision } from './contract.ts'
import { describeOrigin } from './failures.ts'
import { GuardrailRejected } from './guardrail-rejected.ts'
import { isThenable } from './promises.ts'
import type { Entries, Entry } from './registry.ts'
import { ScopeNode } from './scope.ts'

/** Rejects with `GuardrailRejected`, or as a guardrail that fails closed rejects. */
export async function runGuardrails<View>(
  run: CallRun,
  entries: Entries<(view: View) => Awaitable<GuardrailDecision>>,
  createView: (scope: ScopeNode) => View,
): Promise<void> {
  const hasSubscribers = run.scope.snapshot.subscribers.length > 0
  for (const entry of entries) {
    const reason = hasSubscribers
      ? await evaluateInScope(run, entry, createView)
      : await evaluateGuardrail(run, entry, createView(run.scope), () => undefined)
    if (typeof reason === 'string') throw new GuardrailRejected(entry.name, reason)
  }
}

async function evaluateGuardrail<View>(
  run: CallRun,
  entry: Entry<(view: View) => Awaitable<GuardrailDecision>>,
  view: View,
  report: (data: unknown) => void,
): Promise<GuardrailDecision> {
  try {
    const callbackResult = entry.callback(view)
    const decision = isThenable(callbackResult) ? await callbackResult : callbackResult
    if (decision !== undefined && decision !== null && typeof decision !== 'string')
      throw new HermesError(
        'middleware/bad-return',
        `The guardrail ${describeOrigin(entry)} returned neither a string nor null.`,
      )
    report(
      typeof decision === 'string'
        ? { allowed: false, rejected: true, rejection_reason: decision }
        : { allowed: true, rejected: false },
    )
    return decision
  } catch (error) {
    report({ allowed: entry.failsOpen, error: messageOf(error) })
    run.context.errorOrigins.record(error, entry)
    if (!entry.failsOpen) throw error
    run.throwIfAborted(error)
    run.context.failures.report(entry, `${run.kind}_guardrail`, error, 'the call continues without it')
    return null
  }
}

async function evaluateInScope<View>(
  run: CallRun,
  entry: Entry<(view: View) => Awaitable<GuardrailDecision>>,
  createView: (scope: ScopeNode) => View,
): Promise<GuardrailDecision> {
  const { context, scope } = run
  const { publisher, scopes } = context
  const recipients = scope.snapshot
  const node = new ScopeNode(scopes, entry.name, 'guardrail', scope, scopes.now(), true)
  const kind = run.kind === 'tool' ? 'tool_conditional_execution' : 'llm_conditional_execution'
  const target = run.kind === 'tool' ? { target_name: run.name } : {}
  const base = { profile: null, metadata: run.metadata }
  publisher.start(recipients, node, [], { ...base, data: { kind, ...target } })
  try {
    const decision = await scopes.storage.run(node, () =>
      evaluateGuardrail(run, entry, createView(node), (data) => publisher.end(recipients, node, [], { ...base, data })),
    )
    if (typeof decision === 'string') {
      const data = { rejected: true, rejection_reason: decision }
      publisher.mark(recipients, scope, { ...base, name: run.name, category: run.category, data })
    }
    return decision
  } finally {
    node.close()
  }
}
