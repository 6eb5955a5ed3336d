/**
 * `hermes --tui`: opens the terminal interface, and gives the terminal back however it ends.
 */
import { Writable } from 'node:stream'
import { ProcessTerminal } from '@earendil-works/pi-tui'
import { HermesError } from '../../lib/errors.ts'
import type { ChatOptions } from '../chat.ts'
import type { CliContext } from '../context.ts'
import { createInputHistory } from '../input-history.ts'
import { type App, startApp } from './app.ts'
import type { TuiEndpoint } from './connection.ts'

/** What must be undone when the interface ends. */
interface Opened {
  close(): Promise<void>
}

/**
 * Sets the exit code: 0, or that of the signal that has ended it; the first one ends the interface, the second one the process.
 * Throws `cli/usage`, and the errors of `openEndpoint`.
 */
export async function openTui(context: CliContext, options: ChatOptions): Promise<void> {
  assertTerminal(context, options)
  const closing = new AbortController()
  const stopSignals = onSignals((code) => {
    context.exitCode = code
    if (closing.signal.aborted) process.exit(code)
    closing.abort()
  })
  let gateway: Opened | undefined
  const app: App = startApp({
    terminal: new ProcessTerminal(),
    environment: context.environment,
    version: context.version,
    directory: process.cwd(),
    clock: Date.now,
    newId: () => crypto.randomUUID(),
    history: createInputHistory(context.home.chatHistoryFile),
    fetch,
    signal: closing.signal,
    async connect() {
      const endpoint = await connect({ ...context, errors: noticesTo((text) => app.notice(text)) }, options)
      gateway = endpoint
      return endpoint
    },
    ...(options.session === undefined ? {} : { chat: options.session }),
    ...(options.image === undefined ? {} : { images: options.image }),
  })
  const restore = () => app.stop()
  process.on('exit', restore)
  // The report of a crash must not be written to the screen that is about to vanish.
  process.on('uncaughtExceptionMonitor', restore)
  try {
    const { chat, isUsed } = await app.done
    if (isUsed) context.output.write(`To continue later: hermes --tui --session ${chat}\n`)
  } finally {
    restore()
    process.off('exit', restore)
    process.off('uncaughtExceptionMonitor', restore)
    stopSignals()
    await gateway?.close()
  }
}

async function connect(context: CliContext, options: ChatOptions): Promise<TuiEndpoint & Opened> {
  const [{ openEndpoint }, { assertSessionName, readToolsets }] = await Promise.all([
    import('../endpoint.ts'),
    import('../chat.ts'),
  ])
  if (options.session !== undefined) assertSessionName(options.session)
  const endpoint = await openEndpoint(context, { platform: 'cli' })
  if (options.toolsets === undefined) return endpoint
  try {
    return { ...endpoint, toolsets: await readToolsets(options.toolsets, endpoint, context, options.session) }
  } catch (error) {
    await endpoint.close()
    throw error
  }
}

/** Throws `cli/usage`. */
function assertTerminal({ input, output, environment }: CliContext, options: ChatOptions): void {
  const { query, json = false } = options
  if (query !== undefined || json)
    throw new HermesError('cli/usage', `--tui and ${json ? '--json' : '--query'} exclude each other.`)
  if (options.continue !== undefined || options.resume !== undefined)
    throw new HermesError('cli/usage', 'The terminal interface has a list of all conversations.', {
      hint: 'Leave out --continue and --resume, or use hermes chat without --tui.',
    })
  if (input.isTTY !== true || output.isTTY !== true)
    throw new HermesError('cli/usage', 'The terminal interface needs a terminal. Without one, use hermes chat.')
  if (['', 'dumb'].includes(environment['TERM'] ?? ''))
    throw new HermesError('cli/usage', 'This terminal (TERM=dumb) cannot place text on the screen. Use hermes chat.')
}

/** @param onSignal gets the exit code of a process that the signal ends */
function onSignals(onSignal: (code: number) => void): () => void {
  const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
  const names = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
  const listeners = names.map((name) => {
    const listener = () => onSignal(128 + numbers[name])
    process.on(name, listener)
    return () => process.off(name, listener)
  })
  return () => {
    for (const remove of listeners) remove()
  }
}

/** What a gateway in this process says would be written over the screen. */
function noticesTo(notice: (text: string) => void): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      const text = String(chunk).trim()
      if (text !== '') notice(text)
      done()
    },
  })
}
