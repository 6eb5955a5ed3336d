/**
 * Sends one prompt and waits for its answer. The message has an id made of the batch, the prompt and the attempt, so that a
 * prompt that was sent before a crash is found again instead of being sent a second time.
 */
import { createHash } from 'node:crypto'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import { createChatClient } from '../chat/chat-client.ts'
import { createChatPictures } from '../chat/chat-pictures.ts'
import type { BatchPrompt } from './read-prompts.ts'
import type { BatchResult } from './result-file.ts'

export interface AskOptions {
  /** The address of the gateway. */
  readonly url: string
  readonly token: string
  readonly fetch: typeof fetch
  readonly batch: string
  readonly clock: () => number
}

/** Error codes of one prompt. All others end the batch, which can then be continued. */
const promptErrors = ['inbox/', 'media/', 'http/too-large', 'http/bad-request', 'cli/usage']

/** Rejects when the gateway cannot be reached for long or is unusable, or with the reason of the signal. */
export async function askPrompt(
  options: AskOptions,
  prompt: BatchPrompt,
  attempt: number,
  signal: AbortSignal,
): Promise<BatchResult> {
  const { clock } = options
  const about = { id: prompt.id, line: prompt.line }
  const end = () => ({
    attempt,
    finished_at: new Date(clock()).toISOString(),
    hash: prompt.hash,
    metadata: prompt.metadata,
  })
  try {
    const result = await sendAndWait(options, prompt, attempt, signal)
    return { ...about, ...describeResult(prompt, result), ...end() }
  } catch (error) {
    if (signal.aborted || !isHermesError(error) || !promptErrors.some((code) => error.code.startsWith(code)))
      throw error
    const { code } = error
    const failed = { status: 'failed' as const, prompt: prompt.text, text: '' }
    const usage = { input_tokens: 0, output_tokens: 0 }
    return {
      ...about,
      ...failed,
      error: { code, message: messageOf(error) },
      model: '',
      usage,
      session_id: '',
      ...end(),
    }
  }
}

async function sendAndWait(
  { url, token, fetch, batch }: AskOptions,
  prompt: BatchPrompt,
  attempt: number,
  signal: AbortSignal,
): Promise<TurnResult> {
  const name = createHash('sha256')
    .update(JSON.stringify([prompt.id, prompt.hash]))
    .digest('hex')
    .slice(0, 24)
  const { toolsets } = prompt
  const client = createChatClient({
    ...{ url, token, fetch },
    platform: 'batch',
    chat: `${batch}.${name}.${attempt}`,
    toolsets,
  })
  const pictures = createChatPictures({ client, userHome: '', signal })
  for (const path of prompt.images) await pictures.attach(path)
  const seq = await client.post(
    {
      id: 'prompt',
      text: prompt.text,
      unattended: true,
      isText: true,
      files: pictures.take(),
      ...(prompt.system === '' ? {} : { instructions: prompt.system }),
    },
    signal,
  )
  return await client.waitForResult(seq, signal)
}

function describeResult({ text: prompt }: BatchPrompt, result: TurnResult) {
  const { status, text, errorCode, cutOff, model, usage, sessionId } = result
  const { inputTokens, outputTokens, cost } = usage
  const isDone = status === 'done'
  const failed = { code: errorCode ?? 'agent/stopped', message: text.trim() }
  return {
    status: status === 'interrupted' ? ('stopped' as const) : status,
    prompt,
    text: isDone ? text : '',
    ...(isDone ? {} : { error: failed.message === '' ? { ...failed, message: status } : failed }),
    cut_off: cutOff,
    model,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, cost },
    session_id: sessionId,
  }
}

/** How long requests are repeated while the gateway is busy or does not answer. */
const maxPatienceMs = 60_000
const maxDelayMs = 10_000

/**
 * Repeats requests that the gateway did not take: it restarts, or asks for patience (429, 503, with `Retry-After` in seconds).
 * All messages have ids, so none is taken twice.
 */
export function createPatientFetch(deps: {
  readonly fetch: typeof fetch
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}): typeof fetch {
  /** Shared by all requests. */
  let failingSince: number | undefined

  return async (input, init) => {
    const signal = init?.signal ?? undefined
    for (let failures = 1; ; failures += 1) {
      const response = await deps.fetch(input, init).catch((error: unknown) => {
        if (signal?.aborted === true || isOutOfPatience()) throw error
        return undefined
      })
      const isRefused = response === undefined || response.status === 429 || response.status === 503
      if (!isRefused) failingSince = undefined
      if (response !== undefined && (!isRefused || isOutOfPatience())) return response
      await response?.body?.cancel()
      const asked = Number(response?.headers.get('retry-after') ?? 0) * 1_000
      const delayMs = Math.min(maxDelayMs, Math.max(asked > 0 ? asked : 0, 100 * 2 ** Math.min(failures, 10)))
      await deps.sleep(delayMs, signal)
    }
  }

  function isOutOfPatience(): boolean {
    failingSince ??= deps.clock()
    return deps.clock() - failingSince > maxPatienceMs
  }
}
