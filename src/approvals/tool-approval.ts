/**
 * Asks a user whether a tool may run (contract §2.6, `pre_tool_call → approve`; §3.9). The question belongs to the turn, the
 * call and the action: a turn that is resumed after a crash finds it, open or answered, and does not ask twice.
 */
import { createHash } from 'node:crypto'
import type { ApproveTool, ToolApprovalRequest } from '../agent/loop/tool-approval.ts'
import { onAbort, raceAbort } from '../lib/timers.ts'
import { hasWaitingUser, type MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Transaction } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalsConfig } from './config.ts'
import { formatCommand, formatReason, formatToolCall } from './format-tool-call.ts'
import { findQuestion, isGrantedInSession, isGrantedUntilEnd, type StoredQuestion } from './queries.ts'
import type { Choice, Question } from './question.ts'
import type { PreparedWrite, Questions } from './questions.ts'

/** Lets a caller wait in this process until a question is resolved. The caller then reads the result from the store. */
export interface CompletionSignals {
  /** A question was resolved and stored. */
  readonly complete: (id: string) => void
  /** Listens at once, so that a resolution before `wait` is not missed. */
  listen(id: string): CompletionSignal
}

interface CompletionSignal {
  /** Resolves once the question is resolved; rejects with the signal's reason when that aborts first. */
  wait(signal: AbortSignal): Promise<void>
  /** Stops listening. May be called twice. */
  release(): void
}

export interface ToolApprovalDeps {
  readonly store: Store
  readonly questions: Pick<Questions, 'ask'>
  readonly completionSignals: Pick<CompletionSignals, 'listen'>
  readonly clock: () => number
  readonly settings: () => ApprovalsConfig
  /** Removes secrets from texts for users and plugins. */
  redact(text: string): string
  /** The event and the session of an open turn; undefined outside of sessions. */
  openTurnEvent(
    turnId: string,
  ): Transaction<{ readonly event: MessageEvent; readonly sessionKey: SessionKey } | undefined>
  /** Aborts when the gateway stops: no answer can arrive then. */
  readonly stopping: AbortSignal
  /** Waits without keeping other turns from running. Resolves or rejects as `wait`. */
  waitInTurn<T>(sessionKey: SessionKey, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Interrupts the turn of a session, so that the stop does not wait for it. The next start resumes it. */
  abortTurn(sessionKey: SessionKey): void
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

type ApprovalDecision = 'allow' | { readonly deny: string }

export function createToolApproval(deps: ToolApprovalDeps): ApproveTool {
  const { store, completionSignals, stopping } = deps
  return async (request, signal) => {
    const id = approvalIdOf(request)
    const completion = completionSignals.listen(id)
    let stopListening: (() => void) | undefined
    try {
      const state = await requestApproval(deps, id, request)
      if (state.kind === 'decided') return state.decision
      deps.failpoint('approval:waiting')
      stopListening = onAbort(stopping, () => deps.abortTurn(state.sessionKey))
      await deps.waitInTurn(state.sessionKey, () => completion.wait(signal), signal)
      return decisionOf(request, await store.run(() => findQuestion(id)))
    } finally {
      stopListening?.()
      completion.release()
    }
  }
}

type RequestState =
  | { readonly kind: 'decided'; readonly decision: ApprovalDecision }
  | { readonly kind: 'waiting'; readonly sessionKey: SessionKey }

const alreadyAllowed: RequestState = { kind: 'decided', decision: 'allow' }

/** Returns the stored decision, or asks: one transaction. */
async function requestApproval(
  deps: ToolApprovalDeps,
  id: string,
  request: ToolApprovalRequest,
): Promise<RequestState> {
  const now = deps.clock()
  let asked: PreparedWrite | undefined
  try {
    const state = await deps.store.run(function* (): Transaction<RequestState> {
      asked?.abandoned()
      asked = undefined
      const known = yield* findQuestion(id)
      if (known?.state === 'waiting') return { kind: 'waiting', sessionKey: known.sessionKey }
      if (known !== undefined) return { kind: 'decided', decision: decisionOf(request, known) }
      const open = yield* deps.openTurnEvent(request.info.turn.turnId)
      if (open === undefined || !isAttended(open.event)) return { kind: 'decided', decision: deniedUnattended(request) }
      const rule = ruleOf(request)
      if (yield* isGrantedInSession(open.sessionKey, rule)) return alreadyAllowed
      if (yield* isGrantedUntilEnd(request.info.turn.sessionId, rule)) return alreadyAllowed
      asked = deps.questions.ask(questionFor(deps, id, request, open.sessionKey, open.event))
      yield* asked.write(now)
      return { kind: 'waiting', sessionKey: open.sessionKey }
    })
    asked?.committed()
    return state
  } catch (error) {
    asked?.abandoned()
    throw error
  }
}

/** Identifies the action of a call in a turn. */
function approvalIdOf({ info, args }: ToolApprovalRequest): string {
  const action = JSON.stringify([info.turn.turnId, info.toolCallId, info.toolName, args])
  return createHash('sha256').update(action).digest('hex').slice(0, 32)
}

function ruleOf({ ruleKey }: ToolApprovalRequest): string {
  return `tool:${ruleKey}`
}

/** Background tasks, programs and one-shot questions on the command line have no user who could answer. */
function isAttended(event: MessageEvent): boolean {
  return event.task === undefined && hasWaitingUser(event)
}

function questionFor(
  { redact, settings }: ToolApprovalDeps,
  id: string,
  request: ToolApprovalRequest,
  sessionKey: SessionKey,
  { source, messageId }: MessageEvent,
): Question {
  const { info, args, message, ruleKey } = request
  const { toolName, toolCallId, turn } = info
  const reason = formatReason(message, redact)
  const call = formatToolCall(args, redact)
  return {
    id,
    kind: 'approval',
    sessionKey,
    source,
    text: `May I run \`${toolName}\`?${reason === '' ? '' : ` ${reason}`}${call === '' ? '' : `\n\n\`\`\`\n${call}\n\`\`\``}`,
    choices: choicesFor(ruleOf(request), turn.sessionId),
    unanswered: { says: `\`${toolName}\` was not run.` },
    timeoutMs: settings().approvals.timeout * 1_000,
    ...(messageId === undefined ? {} : { replyTo: messageId }),
    about: {
      command: formatCommand(toolName, args, redact),
      description: reason,
      patternKeys: [ruleKey],
      turnId: turn.turnId,
      toolCallId,
    },
  }
}

function choicesFor(grant: string, sessionId: string): readonly Choice[] {
  return [
    {
      answer: 'once',
      label: 'Allow once',
      style: 'primary',
      typed: ['approve'],
      effect: { says: 'Allowed, this once.' },
    },
    {
      answer: 'session',
      label: 'This session',
      typed: ['approve session'],
      effect: { says: 'Allowed until this session ends.', grant, grantEndsWith: sessionId },
    },
    {
      answer: 'always',
      label: 'Always here',
      typed: ['approve always'],
      effect: { says: 'Allowed in this conversation from now on.', grant },
    },
    { answer: 'deny', label: 'Deny', style: 'danger', typed: ['deny'], effect: { says: 'Refused.' } },
  ]
}

/** The decision of a resolved question. A deleted question counts as unanswered. */
function decisionOf({ info }: ToolApprovalRequest, question: StoredQuestion | undefined): ApprovalDecision {
  const { toolName } = info
  if (question === undefined || question.answer === null)
    return { deny: `No user answered in time whether ${toolName} may run. It was not run.` }
  if (question.answer !== 'deny') return 'allow'
  const why = question.reason === null ? '' : `, saying: ${question.reason}`
  return {
    deny: `A user refused to let ${toolName} run${why}. It was not run. Do not try to achieve the same in another way.`,
  }
}

function deniedUnattended({ info, message }: ToolApprovalRequest): ApprovalDecision {
  const why = message === '' ? '' : ` (${message})`
  return {
    deny: `A plugin requires that a user approves ${info.toolName} first${why}, and no user can be asked here. It was not run.`,
  }
}

export function createCompletionSignals(): CompletionSignals {
  const listeners = new Map<string, Set<() => void>>()
  return {
    complete(id) {
      for (const notify of listeners.get(id) ?? []) notify()
    },
    listen(id) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const subscribers = listeners.get(id) ?? new Set()
      listeners.set(id, subscribers.add(resolve))
      return {
        wait: (signal) => raceAbort(promise, signal),
        release() {
          if (subscribers.delete(resolve) && subscribers.size === 0 && listeners.get(id) === subscribers)
            listeners.delete(id)
        },
      }
    },
  }
}
