/**
 * `hermes --tui`: opens the terminal interface, and gives the terminal back however it ends.
 */
import { Writable } from 'node:stream'
import { ProcessTerminal } from '@earendil-works/pi-tui'
import { createInputHistory } from '../clients/chat/input-history.ts'
import { type App, startApp } from '../clients/tui/app.ts'
import type { TuiEndpoint } from '../clients/tui/connection.ts'
import { HermesError } from '../lib/errors.ts'
import type { ChatOptions } from './chat.ts'
import type { CliContext } from './kit/context.ts'

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
  let gateway: Promise<Opened> | undefined
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
      const errors = noticesTo((text) => (app.isOpen() ? app.notice(text) : context.errors.write(`${text}\n`)))
      const connecting = connect({ ...context, errors }, options, closing.signal)
      gateway = connecting
      return await connecting
    },
    chat: options.session,
    images: options.image,
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
    // A gateway that is still starting holds the home until it is closed. Why one could not start is known already.
    const opened = await gateway?.catch(() => undefined)
    await opened?.close()
  }
}

async function connect(context: CliContext, options: ChatOptions, signal: AbortSignal): Promise<TuiEndpoint & Opened> {
  const [{ openEndpoint }, chats] = await Promise.all([import('./kit/endpoint.ts'), import('./chat.ts')])
  chats.assertOneConversation(options)
  if (options.session !== undefined) chats.assertSessionName(options.session)
  const endpoint = await openEndpoint(context, { platform: 'cli' })
  try {
    const continued = await chats.findContinued(endpoint, options, signal)
    const chat =
      continued === undefined ? undefined : (continued.chat ?? (await reopen(endpoint, continued.session, signal)))
    const { toolsets: names } = options
    const toolsets =
      names === undefined ? undefined : await chats.readToolsets(names, endpoint, context, chat ?? options.session)
    return { ...endpoint, chat, toolsets, checkpoints: options.checkpoints === true }
  } catch (error) {
    await endpoint.close()
    throw error
  }
}

/** A conversation that has ended goes on in a new chat. Throws as `openSession`. */
async function reopen({ url, token }: TuiEndpoint, session: string, signal: AbortSignal): Promise<string> {
  const [{ openSession }, { createChatClient }] = await Promise.all([
    import('../clients/chat/chat-api.ts'),
    import('../clients/chat/chat-client.ts'),
  ])
  const client = createChatClient({ url, token, fetch })
  await openSession({ url, token }, client, session, signal)
  return client.chat
}

/** Throws `cli/usage`. */
function assertTerminal({ input, output, environment }: CliContext, options: ChatOptions): void {
  const { query, json = false } = options
  if (query !== undefined || json)
    throw new HermesError('cli/usage', `--tui and ${json ? '--json' : '--query'} exclude each other.`)
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
function noticesTo(notice: (text: string) => unknown): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      const text = String(chunk).trim()
      if (text !== '') notice(text)
      done()
    },
  })
}
