/**
 * `hermes chat --json`: the conversation as JSON lines for programs. `docs/how-to/use-the-terminal-chat.md` describes the shapes.
 */
import { createInterface } from 'node:readline'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { exitCodes } from '../../lib/exit-codes.ts'
import { escapeJsonLine } from '../../lib/json.ts'
import type { Input, Output } from '../../lib/terminal-streams.ts'
import { onAbort } from '../../lib/timers.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import type { ChatClient, ChatEvent } from './chat-client.ts'

/** The result of a message, as programs read it. */
export function describeResult(result: TurnResult, chat: string) {
  const { status, text, sessionId, model, usage, errorCode, cutOff } = result
  const { inputTokens, outputTokens, cost } = usage
  const failed = status === 'failed' ? { error: { code: errorCode ?? 'agent/failed', message: text.trim() } } : {}
  return {
    status,
    text: status === 'failed' ? '' : text,
    ...failed,
    cut_off: cutOff,
    chat,
    session_id: sessionId,
    model,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, cost },
  }
}

/** A message without a result. */
export function describeFailure(error: unknown, chat: string) {
  const code = isHermesError(error) ? error.code : 'cli/failed'
  return { status: 'failed' as const, text: '', error: { code, message: messageOf(error) }, chat }
}

export function writeJsonLine(output: Pick<Output, 'write'>, value: unknown): void {
  output.write(`${escapeJsonLine(JSON.stringify(value))}\n`)
}

export interface JsonChatOptions {
  readonly client: ChatClient
  /** Ids of uploads for the first message. */
  readonly files: readonly string[]
  /** Each line is a message, which is sent after the result of the one before. */
  readonly input: Input
  readonly output: Output
  readonly signal: AbortSignal
}

const stopTimeoutMs = 2_000

/** Resolves with the exit code: 0, 1 when a message failed or the gateway went away, 130 when interrupted. Never rejects. */
export async function runJson({ client, files, input, output, signal }: JsonChatOptions): Promise<number> {
  const ended = new AbortController()
  const until = AbortSignal.any([signal, ended.signal])
  const ready = Promise.withResolvers<boolean>()
  let code = 0
  let open: number | undefined
  let isReady = false
  const write = (value: unknown) => writeJsonLine(output, value)
  const streamed = printEvents()
  onAbort(until, () => ready.resolve(false))
  if (await ready.promise) await readLines(files)
  if (signal.aborted) {
    code = exitCodes.interrupted
    if (open !== undefined) await client.stop(open, AbortSignal.timeout(stopTimeoutMs)).catch(() => undefined)
  }
  ended.abort()
  await streamed
  return code

  async function printEvents(): Promise<void> {
    try {
      for await (const event of client.events(until)) {
        if (event.type !== 'ready') write(describeEvent(event))
        else if (!isReady) {
          isReady = true
          write({ type: 'ready', chat: client.chat })
          ready.resolve(true)
        }
      }
    } catch (error) {
      if (until.aborted) return
      write({ type: 'error', ...describeFailure(error, client.chat).error })
      code = exitCodes.failed
      ready.resolve(false)
    }
  }

  async function readLines(first: readonly string[]): Promise<void> {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    const removeAbort = onAbort(until, () => lines.close())
    let pictures = first
    for await (const line of lines) {
      if (until.aborted) break
      if (line.trim() === '') continue
      await ask(line, pictures)
      pictures = []
    }
    removeAbort()
  }

  async function ask(text: string, pictures: readonly string[]): Promise<void> {
    try {
      open = await client.post({ text, unattended: true, files: pictures }, until)
      write({ type: 'accepted', message: open })
      const result = await client.waitForResult(open, until)
      write({ type: 'result', message: open, ...describeResult(result, client.chat) })
      if (result.status === 'failed') code = exitCodes.failed
      open = undefined
    } catch (error) {
      if (until.aborted) return
      write({ type: 'result', message: open ?? null, ...describeFailure(error, client.chat) })
      code = exitCodes.failed
      open = undefined
    }
  }
}

/** Events that say what happens; the names follow the JSON API. */
function describeEvent(event: Exclude<ChatEvent, { readonly type: 'ready' }>) {
  switch (event.type) {
    case 'draft':
      return { type: 'draft', id: event.id, text: event.text }
    case 'message':
    case 'missed':
      return {
        ...{ type: 'message', id: event.id, kind: event.kind, text: event.text },
        ...(event.type === 'missed' ? { missed: true } : {}),
        choices: event.buttons?.map(({ label }) => label),
      }
    case 'settled':
      return { type: 'settled', text: event.text }
    case 'activity':
      return describeActivity(event.activity)
    case 'lost':
      return { type: 'lost' }
  }
}

function describeActivity(activity: Extract<ChatEvent, { readonly type: 'activity' }>['activity']) {
  switch (activity.kind) {
    case 'turn-started':
      return { type: 'turn', state: 'started' }
    case 'turn-ended':
      return { type: 'turn', state: 'ended' }
    case 'tool-started':
      return { type: 'tool', state: 'started', tool: activity.tool, label: activity.label }
    case 'tool-ended':
      return { type: 'tool', state: activity.ok ? 'done' : 'failed', tool: activity.tool, label: activity.summary }
  }
}
