/**
 * The questions of a run: approvals of commands, and questions of the agent. They are events of the run and a part of its state, and its
 * client answers them (Hermes' `api_server`: `/v1/runs/{id}/approval`).
 */
import type { OpenQuestion, PlatformContext } from '#sdk'
import { ApiError, invalidParam } from './errors.ts'
import { readBoolean, readString } from './payload.ts'
import { parseBody } from './read-headers.ts'
import type { RunEvent, RunLog } from './run-log.ts'

type Context = Pick<PlatformContext, 'questions' | 'platform' | 'account' | 'log'>

export interface AskingRun {
  readonly id: string
  readonly chatId: string
  readonly seq: number
}

/** Turns what is asked and answered into events. */
export interface QuestionEvents {
  /** Something may have been asked or answered. Never rejects. */
  check(): Promise<void>
  /** The client answers this question, so its end is no event of its own. The returned function takes that back. */
  answering(id: string): () => void
}

export function createQuestionEvents(
  context: Context,
  run: () => AskingRun | undefined,
  append: (event: RunEvent) => void,
): QuestionEvents {
  const known = new Map<string, OpenQuestion>()
  const answering = new Set<string>()
  let last: Promise<void> = Promise.resolve()

  async function compare(): Promise<void> {
    const asking = run()
    if (asking === undefined) return
    try {
      const open = await questionsOf(context, asking)
      for (const question of open) {
        if (!known.has(question.id)) append({ event: `${question.kind}.request`, ...describe(question) })
        known.set(question.id, question)
      }
      for (const [id, { kind }] of known) {
        if (open.some((question) => question.id === id)) continue
        known.delete(id)
        if (answering.has(id)) continue
        append(
          kind === 'clarify'
            ? { event: 'clarify.retired', clarify_id: id }
            : { event: 'approval.closed', request_id: id },
        )
      }
    } catch (error) {
      context.log.error({ event: 'api_server.questions_failed', err: error }, 'the questions of a run cannot be read')
    }
  }

  return {
    check() {
      last = last.then(compare)
      return last
    },
    answering(id) {
      answering.add(id)
      return () => void answering.delete(id)
    },
  }
}

async function questionsOf({ questions }: Context, { chatId, seq }: AskingRun): Promise<readonly OpenQuestion[]> {
  return (await questions.list(chatId)).filter((question) => question.seq === seq)
}

/** For the state of a run that has not ended. */
export async function waitingState(context: Context, run: AskingRun): Promise<object> {
  const open = await questionsOf(context, run)
  const approval = open.find(({ kind }) => kind === 'approval')
  const clarify = open.find(({ kind }) => kind === 'clarify')
  return {
    ...(clarify === undefined ? {} : { clarify: describe(clarify), last_event: 'clarify.request' }),
    ...(approval === undefined
      ? {}
      : { status: 'waiting_for_approval', approval: describe(approval), last_event: 'approval.request' }),
  }
}

function describe({ id, kind, text, choices, subject, expiresAt }: OpenQuestion): object {
  const expires_at = expiresAt / 1_000
  if (kind === 'clarify')
    return { clarify_id: id, question: text, choices: choices.map(({ label }) => label), expires_at }
  const { command = '', description = '', patternKeys = [] } = subject ?? {}
  return {
    request_id: id,
    command,
    description,
    pattern_key: patternKeys[0] ?? '',
    pattern_keys: patternKeys,
    text,
    choices: choices.map(({ answer }) => answer),
    expires_at,
  }
}

/** Hermes accepts these aliases. */
const choiceAliases: Readonly<Record<string, string>> = { approve: 'once', approved: 'once', allow: 'once' }
const allChoices = ['once', 'session', 'always', 'deny']

/** `POST /v1/runs/{id}/approval`. Throws `ApiError` 400 and 409. */
export async function answerApproval(
  context: Context,
  run: AskingRun,
  bytes: Uint8Array,
  events: {
    readonly answering: QuestionEvents['answering'] | undefined
    readonly append: RunLog['append'] | undefined
  },
): Promise<Response> {
  const body = parseBody(bytes)
  const given = readString(body['choice'], 'choice').trim().toLowerCase()
  const choice = choiceAliases[given] ?? given
  if (!allChoices.includes(choice)) throw invalidChoice(allChoices)
  const requestId = body['request_id'] === undefined ? undefined : readString(body['request_id'], 'request_id')
  const text = body['reason'] === undefined ? '' : readString(body['reason'], 'reason')
  const all = readBoolean(body['all'], 'all') || readBoolean(body['resolve_all'], 'resolve_all')
  const approvals = (await questionsOf(context, run)).filter(({ kind }) => kind === 'approval')
  const open = requestId === undefined ? approvals : approvals.filter(({ id }) => id === requestId)
  let resolved = 0
  for (const { id, choices } of all ? open : open.slice(0, 1)) {
    if (!choices.some(({ answer }) => answer === choice)) throw invalidChoice(choices.map(({ answer }) => answer))
    if (await answer(context, run, { id, answer: choice, text }, events.answering)) resolved++
  }
  if (resolved === 0)
    throw new ApiError(409, `The run '${run.id}' waits for no approval.`, { code: 'approval_not_pending' })
  const named = { choice, request_id: requestId, resolved }
  events.append?.({ event: 'approval.responded', ...named })
  return Response.json({ object: 'hermes.run.approval_response', run_id: run.id, ...named })
}

/** `POST /v1/runs/{id}/clarify`. Throws `ApiError` 400 and 409. */
export async function answerClarify(context: Context, run: AskingRun, bytes: Uint8Array): Promise<Response> {
  const body = parseBody(bytes)
  const text = readString(body['response'], 'response')
  if (text.trim() === '') throw invalidParam('response', 'expected a text that is not empty')
  const named = body['clarify_id'] === undefined ? undefined : readString(body['clarify_id'], 'clarify_id')
  const open = (await questionsOf(context, run)).filter(({ kind }) => kind === 'clarify')
  const question = named === undefined ? open[0] : open.find(({ id }) => id === named)
  if (question === undefined || !(await answer(context, run, { id: question.id, text })))
    throw new ApiError(409, `The run '${run.id}' waits for no answer.`, { code: 'clarify_not_pending' })
  const { id } = question
  return Response.json({ object: 'hermes.run.clarify_response', run_id: run.id, clarify_id: id, resolved: true })
}

/** False when it was answered before or has expired. */
async function answer(
  { questions, platform, account }: Context,
  { chatId }: AskingRun,
  given: { readonly id: string; readonly answer?: string; readonly text: string },
  answering: QuestionEvents['answering'] = () => () => undefined,
): Promise<boolean> {
  const undo = answering(given.id)
  let isTaken = false
  try {
    const source = { platform, account, chatId, chatType: 'dm' as const, userId: 'api' }
    const { status, text } = await questions.answer({ source, ...given })
    if (status === 'refused') throw new ApiError(403, text, { type: 'permission_error', code: 'approval_refused' })
    isTaken = status === 'taken'
    return isTaken
  } finally {
    if (!isTaken) undo()
  }
}

function invalidChoice(allowed: readonly string[]): ApiError {
  return invalidParam('choice', `expected one of ${allowed.join(', ')}`, 'invalid_approval_choice')
}
