/**
 * The two forms of `hermes chat`: an interactive conversation, and a single question.
 */
import { createInterface } from 'node:readline'
import { describeError } from '../../lib/describe-error.ts'
import { errorCatalogue } from '../../lib/error-catalogue.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { exitCodes } from '../../lib/exit-codes.ts'
import { onAbort } from '../../lib/timers.ts'
import { stripControlCharacters, toSingleLine } from '../../lib/visible-text.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import type { ChatClient } from './chat-client.ts'
import type { ChatCompleter } from './chat-completion.ts'
import { type ChatInput, createChatInput } from './chat-input.ts'
import { describeFailure, describeResult, writeJsonLine } from './chat-json.ts'
import type { ChatPictures } from './chat-pictures.ts'
import { createChatPrinter } from './chat-printer.ts'
import { createChatQuestions } from './chat-questions.ts'
import type { InputHistory } from './input-history.ts'

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean }
type Output = NodeJS.WritableStream & { readonly isTTY?: boolean }

/** The maximum time that Ctrl-C waits for the gateway to accept the stop. */
const stopTimeoutMs = 2_000

export interface InteractiveOptions {
  readonly client: ChatClient
  /** The pictures of messages. Without it no line attaches one. */
  readonly pictures?: ChatPictures
  readonly input: Input
  readonly output: Output
  /** Aborts when the process receives a signal to exit: the running turn is stopped. */
  readonly signal: AbortSignal
  /** Shows dim lines for tool calls; only on a terminal. */
  readonly showTools?: boolean
  /** Tab, on a terminal. */
  readonly complete?: ChatCompleter
  /** What the arrow keys offer, on a terminal. */
  readonly history?: InputHistory
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

/**
 * Runs a conversation until the user leaves; resolves with the exit code. Input from a pipe is read line by line, and each
 * line waits for the reply to the previous one. Never rejects.
 */
export async function runInteractive(options: InteractiveOptions): Promise<number> {
  const { client, pictures, input, output, signal, showTools = true } = options
  const isTerminal = input.isTTY === true && output.isTTY === true
  const closing = new AbortController()
  const signalOrClosed = AbortSignal.any([signal, closing.signal])
  const ready = Promise.withResolvers<void>()
  const exitCode = Promise.withResolvers<number>()
  const printer = createChatPrinter({
    write: (text) => output.write(text),
    showAsides: output.isTTY === true && showTools,
  })
  /** Messages without a result yet. */
  const open = new Set<number>()
  const questions = createChatQuestions({
    client,
    signal: signalOrClosed,
    printer,
    prompt: () => prompt,
    isIdle: () => pendingMessages === 0,
    print: printOrdered,
    printError,
  })
  let pendingMessages = 0
  let stopRequested = false
  let prompt: ChatInput | undefined

  const exitWith = (code: number) => exitCode.resolve(code)
  const show = {
    aside: (text: string) => printOrdered(() => printer.aside(text)),
    error: (error: unknown) => printOrdered(() => printError(error)),
  }
  onAbort(signal, () => exitWith(exitCodes.interrupted))
  void printEvents()
  const connected = await Promise.race([ready.promise.then(() => true), exitCode.promise.then(() => false)])
  if (connected && isTerminal) prompt = openPrompt()
  else if (connected) void readLines()
  const code = await exitCode.promise
  if (signal.aborted && pendingMessages > 0) await stopTurn()
  prompt?.close()
  closing.abort()
  return code

  async function printEvents(): Promise<void> {
    try {
      for await (const event of client.events(signalOrClosed)) {
        if (!isTerminal || !questions.take(event)) printOrdered(() => printer.onEvent(event))
        if (event.type === 'ready') ready.resolve()
      }
    } catch (error) {
      if (!signalOrClosed.aborted) printError(error)
      exitWith(1)
    }
  }

  /** Nothing is printed into what the user types. */
  function printOrdered(print: () => void): void {
    const isPromptShown = pendingMessages === 0 || questions.isOpen()
    if (prompt !== undefined && isPromptShown) prompt.printAbove(print)
    else print()
  }

  function openPrompt(): ChatInput {
    const { sleep, complete, history } = options
    const opened = createChatInput({
      input,
      output,
      complete,
      history,
      onMessage(text) {
        if (exitCommands.has(text.trim())) exitWith(0)
        else if (!questions.answer(text)) void ask(text)
      },
      onInterrupt(empty) {
        if (pendingMessages > 0 && !stopRequested) {
          stopRequested = true
          void stopTurn()
        } else if (pendingMessages > 0 || empty) {
          output.write('\n')
          exitWith(pendingMessages > 0 ? exitCodes.interrupted : 0)
        } else opened.prompt()
      },
      onEnd() {
        output.write('\n')
        exitWith(0)
      },
      sleep,
    })
    opened.prompt()
    return opened
  }

  async function readLines(): Promise<void> {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    onAbort(signalOrClosed, () => lines.close())
    for await (const line of lines) {
      if (signalOrClosed.aborted || exitCommands.has(line.trim())) break
      if (line.trim() !== '') await ask(line)
    }
    exitWith(0)
  }

  async function ask(line: string): Promise<void> {
    const text = pictures?.isNamedIn(line) === true ? await readPictures(line, pictures, show) : line
    if (text === undefined) prompt?.prompt()
    // Pictures wait for a message of the person.
    else await deliver(text, text.startsWith('/') ? [] : pictures?.take())
  }

  async function deliver(text: string, files: readonly string[] = []): Promise<void> {
    let seq: number | undefined
    // What is typed while an answer is printed is not shown; the message is, when it is sent.
    const isAsked = questions.isOpen()
    if (pendingMessages > 0 && isTerminal && !isAsked) printer.aside(`› ${text}`)
    if (!isAsked) prompt?.hide()
    pendingMessages += 1
    printer.onSent()
    try {
      // With piped input no user can answer a question of the gateway.
      seq = await client.send(text, signalOrClosed, !isTerminal, files)
      open.add(seq)
      // Ctrl-C may have been pressed before the message was accepted.
      if (stopRequested) await stopTurn()
      const result = await client.waitForResult(seq, signalOrClosed)
      printOrdered(() => printer.onResult(result))
    } catch (error) {
      if (!signalOrClosed.aborted) printError(error)
    } finally {
      if (seq !== undefined) open.delete(seq)
      pendingMessages -= 1
      if (pendingMessages === 0) stopRequested = false
      if (pendingMessages === 0 && !signalOrClosed.aborted) prompt?.prompt()
    }
  }

  async function stopTurn(): Promise<void> {
    printer.aside('Stopping…')
    try {
      await client.stop([...open].at(-1), AbortSignal.timeout(stopTimeoutMs))
    } catch (error) {
      printError(error)
    }
  }

  function printError(error: unknown): void {
    printer.breakLine()
    output.write(`${describeError(error)}\n`)
  }
}

/** The message of a line that names a picture; `undefined` when the line only attaches it. */
async function readPictures(
  line: string,
  pictures: ChatPictures,
  show: { aside(text: string): void; error(error: unknown): void },
): Promise<string | undefined> {
  try {
    const { text, notice } = await pictures.read(line)
    if (notice !== undefined) show.aside(notice)
    return text === '' ? undefined : text
  } catch (error) {
    show.error(error)
    return undefined
  }
}

/** Handled by the terminal. All other commands are sent to the gateway. */
const exitCommands = new Set(['/exit', '/quit'])

export interface QueryOptions {
  readonly client: ChatClient
  readonly query: string
  /** Ids of uploads. */
  readonly files?: readonly string[]
  /** Aborts on Ctrl-C: the turn is stopped. */
  readonly signal: AbortSignal
  readonly output: NodeJS.WritableStream
  readonly errors: NodeJS.WritableStream
  /** Writes to `errors` what the gateway waits for. A gateway in this process shows it by its log. */
  readonly showNotices?: boolean
  /** Writes one JSON object to `output` instead of the reply, also for a failure. */
  readonly json?: boolean
}

/** Asks one question. Only the reply is written to `output`. Resolves with the exit code; never rejects. */
export async function runQuery(options: QueryOptions): Promise<number> {
  const { client, query, files = [], signal, output, errors, showNotices = false, json = false } = options
  const ended = new AbortController()
  let seq: number | undefined
  try {
    if (showNotices) void printNotices(client, AbortSignal.any([signal, ended.signal]), errors)
    seq = await client.send(query, signal, true, files)
    const result = await client.waitForResult(seq, signal)
    if (json) {
      writeJsonLine(output, describeResult(result, client.chat))
      return result.status === 'done' ? 0 : 1
    }
    if (result.status === 'done') {
      output.write(`${stripControlCharacters(result.text).trimEnd()}\n`)
      return 0
    }
    errors.write(`${describeError(toError(result))}\n`)
    return 1
  } catch (error) {
    if (!signal.aborted) {
      if (json) writeJsonLine(output, describeFailure(error, client.chat))
      else errors.write(`${describeError(error)}\n`)
      return 1
    }
    await stopTurnQuietly(client, seq, errors)
    return exitCodes.interrupted
  } finally {
    ended.abort()
  }
}

/** The notices during a turn. A notice about a turn itself, such as its failure, is the turn's result. */
async function printNotices(client: ChatClient, signal: AbortSignal, errors: NodeJS.WritableStream): Promise<void> {
  try {
    for await (const event of client.events(signal)) {
      const isNotice = event.type === 'message' && event.kind === 'notice' && event.turnId === undefined
      if (isNotice) errors.write(`hermes: ${toSingleLine(stripControlCharacters(event.text))}\n`)
    }
  } catch (error) {
    // The question itself fails for the same reason and reports it, unless only the stream is refused.
    if (!signal.aborted) errors.write(`hermes: notices cannot be shown: ${messageOf(error)}\n`)
  }
}

async function stopTurnQuietly(
  client: ChatClient,
  seq: number | undefined,
  errors: NodeJS.WritableStream,
): Promise<void> {
  try {
    await client.stop(seq, AbortSignal.timeout(stopTimeoutMs))
  } catch (error) {
    errors.write(`The turn may still be running: ${messageOf(error)}\n`)
  }
}

/** Adds the hint of the error code, unless the text of the failed turn contains it or a more specific one. */
function toError({ status, text, errorCode }: TurnResult): Error {
  if (status === 'stopped') return new HermesError('agent/stopped')
  const known = Object.entries(errorCatalogue).find(([code]) => code === errorCode)?.[1]
  const hasHint = known === undefined || text.includes(known.hint) || text.includes(`(${errorCode})`)
  return new Error(hasHint ? text.trimEnd() : `${text.trimEnd()}\n${known.hint}`)
}
