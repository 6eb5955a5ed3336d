/**
 * Asks a user whether a tool may run (contract §2.6, `pre_tool_call → approve`; §3.9, §4.10). The question belongs to the
 * turn, the call and the action: a turn that is resumed after a crash finds it, open or answered, and does not ask twice. No user is asked
 * what the configuration decides: `approvals.mode`, `/yolo`, `command_allowlist`, and the modes of turns that no user follows.
 * Loaded with the first call that needs approval.
 */
import { createHash } from 'node:crypto'
import { isOnAllowlist } from '../agent/command-policy/command-shape.ts'
import type { ApproveTool, ToolApprovalRequest } from '../agent/loop/tool-approval.ts'
import type { ApprovalNeed } from '../agent/tools/tool.ts'
import type { Accounts } from '../inbox/accounts.ts'
import { onAbort } from '../lib/timers.ts'
import type { Role } from '../message/authority.ts'
import { hasWaitingUser, type MessageEvent, mayBeAsked } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { commandLinePlatform } from '../message/source.ts'
import { readSessionSettings } from '../sessions/session-state.ts'
import { enlist, type Transaction } from '../store/query.ts'
import type { Runtime } from '../store/runtime.ts'
import type { ApprovalsConfig } from './config.ts'
import type { Redact } from './format-tool-call.ts'
import {
  findQuestion,
  isGrantedInSession,
  isGrantedUntilEnd,
  isYolo,
  type OpenTurn,
  openTurnOf,
  revokeInSession,
  type StoredQuestion,
} from './queries.ts'
import type { Questions } from './questions.ts'
import { askedOf, deniedUnattended, questionFor, ruleOf, withoutChanges } from './tool-question.ts'

/** How a tool call asks its user and waits for the answer. */
export interface AskingCalls extends Pick<Runtime, 'store' | 'clock' | 'stopping' | 'failpoint'> {
  readonly questions: Pick<Questions, 'ask' | 'listen'>
  readonly settings: () => ApprovalsConfig
  /** Removes secrets from texts for users and plugins. */
  readonly redact: Redact
  /** Waits without keeping other turns from running. Resolves or rejects as `wait`. */
  waitInTurn<T>(sessionKey: SessionKey, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Interrupts the turn of a session, so that the stop does not wait for it. The next start resumes it. */
  abortTurn(sessionKey: SessionKey): void
}

export interface ToolApprovalDeps extends AskingCalls, Pick<Runtime, 'log'> {
  readonly accounts: Pick<Accounts, 'authorityOf'>
  /** Adds an entry to `command_allowlist` of config.yaml. Does nothing if it is there. Throws `config/…`. */
  rememberCommand(shape: string): Promise<void>
  /** `HERMES_YOLO_MODE`, as it was when the process started. */
  readonly yoloMode: boolean
  /** Judges a command for `approvals.mode: smart`. Rejects when no model can be asked. */
  judge(command: JudgedCommand, signal: AbortSignal): Promise<Verdict>
  /** Ends the turn of a session after repeated refusals, with a notice to its user. Rejects `store/…`. */
  endTurn(event: MessageEvent, turnId: string, sessionKey: SessionKey): Promise<void>
}

/** `unclear`: a user is asked. */
export type Verdict = 'yes' | 'no' | 'unclear'

export interface JudgedCommand {
  readonly command: string
  readonly place: string
  readonly reason: string
  /** The turn that calls it. */
  readonly turn: { readonly sessionId: string; readonly turnId: string }
}

type ApprovalDecision = 'allow' | { readonly deny: string }

/** Refusals in a row after which a turn ends. */
const maxRefusals = 3
/** Turns whose refusals are counted at the same time. */
const maxCountedTurns = 1_000

export function createToolApproval(deps: ToolApprovalDeps): ApproveTool {
  const refusals = new Map<string, number>()
  return async (request, signal) => {
    const { decision, open } = await decide(deps, request, signal)
    const { turnId } = request.info.turn
    if (decision === 'allow') {
      refusals.delete(turnId)
      return decision
    }
    if (open === undefined) return decision
    const count = (refusals.get(turnId) ?? 0) + 1
    refusals.delete(turnId)
    refusals.set(turnId, count)
    for (const oldest of refusals.keys()) if (refusals.size > maxCountedTurns) refusals.delete(oldest)
    if (count >= maxRefusals) {
      refusals.delete(turnId)
      deps.log.warn({ event: 'approval.turn_ended', turn: turnId }, 'a turn was ended after repeated refusals')
      await deps.endTurn(open.event, turnId, open.sessionKey)
    }
    return decision
  }
}

/** `open` is present when a user or the judging model refused. */
interface Outcome {
  readonly decision: ApprovalDecision
  readonly open?: OpenTurn
}

async function decide(deps: ToolApprovalDeps, request: ToolApprovalRequest, signal: AbortSignal): Promise<Outcome> {
  const id = approvalIdOf(request)
  const answer = deps.questions.listen(id)
  let stopListening: (() => void) | undefined
  try {
    const state = await requestJudged(deps, id, request, signal)
    if (state.kind === 'settled') return state
    if (state.kind === 'waiting') {
      deps.failpoint?.('approval:waiting')
      stopListening = onAbort(deps.stopping, () => deps.abortTurn(state.open.sessionKey))
      await deps.waitInTurn(state.open.sessionKey, () => answer.wait(signal), signal)
    }
    const question = state.kind === 'waiting' ? await deps.store.run(() => findQuestion(id)) : state.question
    const decision = decisionOf(request, question)
    if (decision === 'allow') await rememberAlways(deps, request, question, state.open.sessionKey)
    return question?.answer === 'deny' ? { decision, open: state.open } : { decision }
  } finally {
    stopListening?.()
    answer.release()
  }
}

/**
 * The answer "always" of an owner is written to the configuration. The entry replaces what the answer stored for the
 * conversation, so that it is enough to take the entry back. A failure is logged; then the answer holds in the conversation.
 */
async function rememberAlways(
  deps: ToolApprovalDeps,
  { needs }: ToolApprovalRequest,
  question: StoredQuestion | undefined,
  sessionKey: SessionKey,
): Promise<void> {
  if (question?.answer !== 'always') return
  const { userName: _, ...source } = question.source
  const by = question.answeredBy ? { ...source, userId: question.answeredBy } : source
  if (deps.accounts.authorityOf(by).role !== 'owner') return
  for (const need of needs) {
    const { shape } = need
    if (shape === undefined) continue
    try {
      if (!deps.settings().command_allowlist.includes(shape)) {
        await deps.rememberCommand(shape)
        deps.log.info({ event: 'approval.remembered', entry: shape }, 'an owner allowed a command for ever')
      }
      await deps.store.run(() => revokeInSession(sessionKey, ruleOf(need)))
    } catch (error) {
      deps.log.error({ event: 'approval.not_remembered', err: error }, 'command_allowlist could not be written')
    }
  }
}

/** Asks the model of `approvals.mode: smart` only where a user would be asked, and before the transaction that asks. */
async function requestJudged(
  deps: ToolApprovalDeps,
  id: string,
  request: ToolApprovalRequest,
  signal: AbortSignal,
): Promise<RequestState> {
  const command = commandToJudge(deps, request)
  let verdict: Verdict | undefined = command === undefined ? 'unclear' : undefined
  for (;;) {
    const state = await requestApproval(deps, id, request, verdict)
    if (state !== 'unjudged') return state
    verdict = command === undefined ? 'unclear' : await judge(deps, command, signal)
  }
}

/** Undefined where no model judges. */
function commandToJudge(
  { settings }: Pick<ToolApprovalDeps, 'settings'>,
  { needs, approvedArgs, info: { turn } }: ToolApprovalRequest,
): JudgedCommand | undefined {
  const [need, ...more] = needs
  // Changed arguments may contain secrets, which no model may read.
  if (settings().approvals.mode !== 'smart' || approvedArgs !== undefined) return undefined
  if (need?.source !== 'policy' || need.remember === 'call' || more.length > 0) return undefined
  const { command, place, reason } = need
  // A model judges commands. What other tools do depends on arguments that it does not know.
  return command === undefined ? undefined : { command, place, reason, turn }
}

async function judge(deps: ToolApprovalDeps, command: JudgedCommand, signal: AbortSignal): Promise<Verdict> {
  try {
    const verdict = await deps.judge(command, signal)
    deps.log.info({ event: 'approval.judged', turn: command.turn.turnId, verdict }, 'a model judged a command')
    return verdict
  } catch (error) {
    signal.throwIfAborted()
    deps.log.warn({ event: 'approval.judge_failed', err: error }, 'no model could judge a command; a user is asked')
    return 'unclear'
  }
}

type RequestState =
  | { readonly kind: 'settled'; readonly decision: ApprovalDecision; readonly open?: OpenTurn }
  | { readonly kind: 'answered'; readonly question: StoredQuestion; readonly open: OpenTurn }
  | { readonly kind: 'waiting'; readonly open: OpenTurn }

const alreadyAllowed: RequestState = { kind: 'settled', decision: 'allow' }

/** Returns the stored decision, or asks: one transaction. `unjudged`: a model must judge first, and nothing was stored. */
async function requestApproval(
  deps: ToolApprovalDeps,
  id: string,
  request: ToolApprovalRequest,
  judged: Verdict | undefined,
): Promise<RequestState | 'unjudged'> {
  const now = deps.clock()
  return await deps.store.run(function* (): Transaction<RequestState | 'unjudged'> {
    const { turnId, sessionId } = request.info.turn
    const open = yield* openTurnOf(turnId)
    if (open === undefined) return { kind: 'settled', decision: { deny: deniedUnattended(request) } }
    const known = yield* findQuestion(id)
    if (known?.state === 'waiting') return { kind: 'waiting', open }
    if (known !== undefined) return { kind: 'answered', question: known, open }
    const yolo = deps.yoloMode || (yield* isYolo(sessionId))
    const role = (open.event.authority ?? deps.accounts.authorityOf(open.event.source)).role
    const remaining = settledByConfiguration(deps.settings(), request.needs, {
      event: open.event,
      role,
      yolo,
      judged: judged === 'yes',
      edits: (yield* readSessionSettings(open.sessionKey)).edits,
    })
    if (remaining === 'deny') return { kind: 'settled', decision: { deny: deniedUnattended(request) } }
    const needs = []
    for (const need of remaining) {
      const rule = ruleOf(need)
      const isGranted =
        need.remember !== 'call' &&
        ((yield* isGrantedInSession(open.sessionKey, rule)) || (yield* isGrantedUntilEnd(sessionId, rule)))
      if (!isGranted) needs.push(need)
    }
    if (needs.length === 0) return alreadyAllowed
    if (judged === undefined) return 'unjudged'
    if (judged === 'no') return { kind: 'settled', decision: { deny: deniedByModel(request) }, open }
    const approver = askedOf(needs, deps.settings().approvals.approver, open.event.source, role)
    if (typeof approver !== 'string') return { kind: 'settled', decision: approver }
    const question = questionFor(deps, id, withoutChanges({ ...request, needs }), { ...open, approver })
    yield* enlist(deps.questions.ask(question), now)
    return { kind: 'waiting', open }
  })
}

function deniedByModel({ info }: ToolApprovalRequest): string {
  return `A check refused to let ${info.toolName} run, because the command is harmful. It was not run. Do not try to achieve the same in another way.`
}

/** Identifies the action of a call in a turn: the tool, its arguments and where it runs. */
function approvalIdOf({ info, args, needs }: ToolApprovalRequest): string {
  const places = needs.map(({ place }) => place).filter((place) => place !== '')
  const action = JSON.stringify([info.turn.turnId, info.toolCallId, info.toolName, args, ...places])
  return createHash('sha256').update(action).digest('hex').slice(0, 32)
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

interface ApprovalSituation {
  readonly event: MessageEvent
  /** The role of the person who caused the turn. */
  readonly role: Role
  /** `/yolo` of the conversation, or `HERMES_YOLO_MODE`. */
  readonly yolo: boolean
  /** A model has said a clear yes. */
  readonly judged: boolean
  /** The user has accepted changes of files: `workspace` those in the folder of the conversation, `everywhere` all but sensitive ones. */
  readonly edits: string | undefined
}

/** Returns what a user must still allow, or `deny` where no user can be asked. */
function settledByConfiguration(
  { approvals, command_allowlist }: ApprovalsConfig,
  needs: readonly ApprovalNeed[],
  { event, role, yolo, judged, edits }: ApprovalSituation,
): readonly ApprovalNeed[] | 'deny' {
  const unattended = unattendedModeOf(event, approvals)
  const isSettled = (need: ApprovalNeed): boolean => {
    // What a plugin requires, what only an owner may allow, and a command that could not be checked are always asked.
    if (need.source === 'plugin' || need.ownerOnly === true || need.remember === 'call') return false
    if (approvals.mode === 'off' || judged || (yolo && role === 'owner')) return true
    if (need.source === 'conversation' && isAccepted(need.ruleKey, edits)) return true
    if (need.command !== undefined && isOnAllowlist(need.command, command_allowlist)) return true
    // A tool is allowed by its name, whatever its arguments are.
    if (need.command === undefined && need.shape !== undefined && command_allowlist.includes(need.shape)) return true
    return unattended === 'approve'
  }
  const remaining = needs.filter((need) => !isSettled(need))
  return remaining.length > 0 && unattended !== undefined ? 'deny' : remaining
}

function isAccepted(ruleKey: string, edits: string | undefined): boolean {
  // The choice was taken back meanwhile.
  if (edits === undefined) return true
  return ruleKey === 'edit' ? edits !== 'ask' : ruleKey === 'edit-elsewhere' && edits === 'everywhere'
}

/** Undefined where a user follows the turn. */
function unattendedModeOf(
  event: MessageEvent,
  { cron_mode, single_query_mode, unattended_mode }: ApprovalsConfig['approvals'],
): 'deny' | 'approve' | undefined {
  const { task, source } = event
  if (task !== undefined) return task.route.startsWith('cron') ? cron_mode : unattended_mode
  if (hasWaitingUser(event)) return undefined
  const mode = source.platform === commandLinePlatform ? single_query_mode : unattended_mode
  return mode === 'deny' && mayBeAsked(event) ? undefined : mode
}
