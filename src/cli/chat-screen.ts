/**
 * `hermes chat`: a conversation in the terminal, or one question and its answer.
 */
import { createInterface } from 'node:readline'
import { errorCatalogue } from '../lib/error-catalogue.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { TurnOutcome } from '../platforms/adapter.ts'
import type { ChatClient } from './chat-client.ts'
import { type ChatInput, createChatInput } from './chat-input.ts'
import { createChatPrinter, printable } from './chat-printer.ts'

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean }
type Output = NodeJS.WritableStream & { readonly isTTY?: boolean }

/** What a person who has pressed Ctrl-C waits at most until the gateway has heard of it. */
const stopLimitMs = 2_000
const interrupted = 130

export interface InteractiveOptions {
  readonly client: ChatClient
  readonly input: Input
  readonly output: Output
  /** Aborts when the process is told to end: the turn that runs is stopped. */
  readonly signal: AbortSignal
  /** Dim lines for the tools at work; only on a terminal. */
  readonly showTools?: boolean
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>
}

/**
 * Runs a conversation until the person leaves; resolves with the exit code. Input that is no terminal is read line by
 * line, each line waiting for the answer to the one before. Never rejects.
 */
export async function runInteractive(options: InteractiveOptions): Promise<number> {
  const { client, input, output, signal, showTools = true } = options
  const onTerminal = input.isTTY === true && output.isTTY === true
  const leaving = new AbortController()
  const live = AbortSignal.any([signal, leaving.signal])
  const ready = Promise.withResolvers<void>()
  const left = Promise.withResolvers<number>()
  const printer = createChatPrinter({
    write: (text) => output.write(text),
    asides: output.isTTY === true && showTools,
  })
  /** Messages that wait for their outcome. */
  const open = new Set<number>()
  let asking = 0
  let stopAsked = false
  let prompt: ChatInput | undefined

  const leave = (code: number) => left.resolve(code)
  signal.addEventListener('abort', () => leave(interrupted), { once: true })
  void watch()
  const connected = await Promise.race([ready.promise.then(() => true), left.promise.then(() => false)])
  if (connected && onTerminal) prompt = openPrompt()
  else if (connected) void readLines()
  const code = await left.promise
  if (signal.aborted && asking > 0) await stopTurn()
  prompt?.close()
  leaving.abort()
  return code

  async function watch(): Promise<void> {
    try {
      for await (const event of client.events(live)) {
        if (prompt === undefined || asking > 0) printer.event(event)
        else prompt.above(() => printer.event(event))
        if (event.type === 'ready') ready.resolve()
      }
    } catch (error) {
      if (!live.aborted) tell(error)
      leave(1)
    }
  }

  function openPrompt(): ChatInput {
    const { pause } = options
    const opened = createChatInput({
      input,
      output,
      onMessage: (text) => (leaveWords.has(text.trim()) ? leave(0) : void ask(text)),
      onInterrupt(empty) {
        if (asking > 0 && !stopAsked) {
          stopAsked = true
          void stopTurn()
        } else if (asking > 0 || empty) {
          output.write('\n')
          leave(asking > 0 ? interrupted : 0)
        } else opened.prompt()
      },
      onEnd() {
        output.write('\n')
        leave(0)
      },
      ...(pause === undefined ? {} : { pause }),
    })
    opened.prompt()
    return opened
  }

  async function readLines(): Promise<void> {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    live.addEventListener('abort', () => lines.close(), { once: true })
    for await (const line of lines) {
      if (live.aborted || leaveWords.has(line.trim())) break
      if (line.trim() !== '') await ask(line)
    }
    leave(0)
  }

  async function ask(text: string): Promise<void> {
    let seq: number | undefined
    asking += 1
    printer.asked()
    try {
      // Whoever pipes lines in cannot answer a question: the next line waits for the answer to this one.
      seq = await client.send(text, live, !onTerminal)
      open.add(seq)
      // Ctrl-C may have been faster than the gateway.
      if (stopAsked) await stopTurn()
      printer.outcome(await client.outcome(seq, live))
    } catch (error) {
      if (!live.aborted) tell(error)
    } finally {
      if (seq !== undefined) open.delete(seq)
      asking -= 1
      if (asking === 0) stopAsked = false
      if (asking === 0 && !live.aborted) prompt?.prompt()
    }
  }

  async function stopTurn(): Promise<void> {
    printer.aside('Stopping…')
    try {
      await client.stop([...open].at(-1), AbortSignal.timeout(stopLimitMs))
    } catch (error) {
      tell(error)
    }
  }

  function tell(error: unknown): void {
    printer.breakLine()
    output.write(`${explain(error)}\n`)
  }
}

/** Commands of the terminal itself; every other command belongs to the gateway. */
const leaveWords = new Set(['/exit', '/quit'])

export interface QueryOptions {
  readonly client: ChatClient
  readonly query: string
  /** Aborts on Ctrl-C: the turn is stopped. */
  readonly signal: AbortSignal
  readonly output: NodeJS.WritableStream
  readonly errors: NodeJS.WritableStream
}

/** Asks one question: the reply alone goes to `output`, anything else to `errors`. Resolves with the exit code, never rejects. */
export async function runQuery({ client, query, signal, output, errors }: QueryOptions): Promise<number> {
  let seq: number | undefined
  try {
    seq = await client.send(query, signal, true)
    const outcome = await client.outcome(seq, signal)
    if (outcome.status === 'done') {
      output.write(`${printable(outcome.text).trimEnd()}\n`)
      return 0
    }
    errors.write(`${explain(problemOf(outcome))}\n`)
    return 1
  } catch (error) {
    if (!signal.aborted) {
      errors.write(`${explain(error)}\n`)
      return 1
    }
    await stopQuietly(client, seq, errors)
    return interrupted
  }
}

async function stopQuietly(client: ChatClient, seq: number | undefined, errors: NodeJS.WritableStream): Promise<void> {
  try {
    await client.stop(seq, AbortSignal.timeout(stopLimitMs))
  } catch (error) {
    errors.write(`The turn may still run: ${messageOf(error)}\n`)
  }
}

/** A failed turn mostly says itself what to do, in general or for its case; where it does not, its code's hint follows. */
function problemOf({ status, text, errorCode }: TurnOutcome): Error {
  if (status === 'stopped') return new HermesError('agent/stopped')
  const known = Object.entries(errorCatalogue).find(([code]) => code === errorCode)?.[1]
  const advised = known === undefined || text.includes(known.hint) || text.includes(`(${errorCode})`)
  return new Error(advised ? text.trimEnd() : `${text.trimEnd()}\n${known.hint}`)
}

function explain(error: unknown): string {
  const hint = error instanceof HermesError ? `\n${error.hint}` : ''
  return printable(`${messageOf(error)}${hint}`)
}
