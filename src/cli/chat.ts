/**
 * `hermes chat`: uses the running daemon, or a gateway in this process when none is running.
 */

import { text } from 'node:stream/consumers'
import { callRoute } from '../api/client.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { FoundConversation } from '../clients/chat/chat-api.ts'
import { createChatClient } from '../clients/chat/chat-client.ts'
import { createChatCompleter, type KnownCommand } from '../clients/chat/chat-completion.ts'
import { runJson } from '../clients/chat/chat-json.ts'
import { createChatPictures } from '../clients/chat/chat-pictures.ts'
import { runInteractive, runQuery } from '../clients/chat/chat-screen.ts'
import { createInputHistory } from '../clients/chat/input-history.ts'
import { HermesError } from '../lib/errors.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { interceptSignals, openEndpoint } from './kit/endpoint.ts'
import { readSettings } from './kit/settings.ts'

export interface ChatOptions {
  /** One question; only its answer is written to stdout. `true` or `-`: the question is read from stdin. */
  readonly query?: string | true
  /** The conversation to continue. Default: a new one. */
  readonly session?: string
  /** The toolsets of a new conversation, separated by commas. */
  readonly toolsets?: string
  /** Files are kept before the agent changes them, whatever the configuration says. */
  readonly checkpoints?: boolean
  /** Paths of pictures for the first message. */
  readonly image?: readonly string[]
  /** Continues a conversation of the terminal: `true` the last one, else by its title or name. */
  readonly continue?: string | true
  /** Continues a conversation of the terminal by its id, title or name. */
  readonly resume?: string
  /** JSON lines on stdout; with a query, one JSON object. */
  readonly json?: boolean
}

/** Sets the exit code: 0, 1 for a failure, 130 when interrupted. Throws when the chat cannot start. */
export async function chat(context: CliContext, options: ChatOptions): Promise<void> {
  const { query: requested } = options
  const query = requested === true || requested === '-' ? await text(context.input) : requested
  if (query?.trim() === '') throw new HermesError('cli/usage', 'The question is empty.')
  assertOneConversation(options)
  if (options.session !== undefined) assertSessionName(options.session)
  const signals = interceptSignals()
  try {
    const endpoint = await openEndpoint(context, { platform: 'cli' })
    try {
      await converse(context, { options, query, endpoint, signal: signals.signal })
    } finally {
      await endpoint.close()
    }
  } finally {
    signals.remove()
  }
}

/** Throws `cli/usage`. */
export function assertOneConversation({ session, continue: continued, resume }: ChatOptions): void {
  const named = [session, continued, resume].filter((option) => option !== undefined)
  if (named.length > 1)
    throw new HermesError(
      'cli/usage',
      '--session, --continue and --resume exclude each other: each names a conversation.',
    )
}

interface Conversation {
  readonly options: ChatOptions
  /** Undefined for an interactive conversation. */
  readonly query: string | undefined
  readonly endpoint: Endpoint
  readonly signal: AbortSignal
}

async function converse(context: CliContext, { options, query, endpoint, signal }: Conversation): Promise<void> {
  const { json = false } = options
  const { input, output, errors } = context
  const continued = await findContinued(endpoint, options, signal)
  const session = continued?.chat ?? options.session
  const toolsets =
    options.toolsets === undefined ? undefined : await readToolsets(options.toolsets, endpoint, context, session)
  const client = createChatClient({
    url: endpoint.url,
    token: endpoint.token,
    fetch,
    toolsets,
    checkpoints: options.checkpoints === true,
    chat: session,
  })
  const userHome = context.environment['HOME'] ?? ''
  const pictures = createChatPictures({ client, userHome, signal })
  for (const path of options.image ?? []) await pictures.attach(path)
  if (continued !== undefined && continued.chat === undefined) {
    const { openSession } = await import('../clients/chat/chat-api.ts')
    await openSession(endpoint, client, continued.session, signal)
  }
  if (endpoint.model === 'demo') reportDemonstration(context, query === undefined && !json)
  reportPlugins(context, endpoint)
  if (query !== undefined) {
    const files = pictures.take()
    const asked = { client, query, files, signal, output, errors, showNotices: endpoint.isDaemon, json }
    context.exitCode = await runQuery(asked)
    if (context.exitCode !== 0 && !signal.aborted)
      printWarnings(context, [...endpoint.degraded, ...endpoint.warnings()])
  } else if (json) {
    context.exitCode = await runJson({ client, files: pictures.take(), input, output, signal })
  } else {
    printGreeting(context, endpoint)
    if (continued !== undefined) await printContinued(context, endpoint, continued, signal)
    const typing = input.isTTY === true ? openTyping(context, endpoint, signal) : {}
    context.exitCode = await runInteractive({ client, pictures, input, output, signal, ...typing })
    if (input.isTTY === true) printResumeHint(context, client.chat)
  }
}

/** The conversation of `--continue` or `--resume`. Throws `cli/not-found`, `cli/usage`. */
export async function findContinued(
  endpoint: Endpoint,
  options: ChatOptions,
  signal: AbortSignal,
): Promise<FoundConversation | undefined> {
  if (options.continue === undefined && options.resume === undefined) return undefined
  const { findConversation } = await import('../clients/chat/chat-api.ts')
  return await findConversation(endpoint, options, signal)
}

/** The completion and the history of a terminal. The commands are read with the first Tab. */
function openTyping({ home, environment }: CliContext, endpoint: Endpoint, signal: AbortSignal) {
  let commands: Promise<readonly KnownCommand[]> | undefined
  return {
    complete: createChatCompleter({
      directory: process.cwd(),
      userHome: environment['HOME'] ?? '',
      commands() {
        commands ??= import('../clients/chat/chat-api.ts').then(({ fetchCommands }) => fetchCommands(endpoint, signal))
        // A later Tab tries again.
        commands.catch(() => {
          commands = undefined
        })
        return commands
      },
    }),
    history: createInputHistory(home.chatHistoryFile),
  }
}

async function printContinued(
  context: CliContext,
  endpoint: Endpoint,
  { session, about, messages }: FoundConversation,
  signal: AbortSignal,
): Promise<void> {
  if (context.input.isTTY !== true || context.output.isTTY !== true) return
  const { readLastMessages } = await import('../clients/chat/chat-api.ts')
  const display = createDisplay(context.output, context.environment)
  display.line(display.tone('dim', `Continues: ${toSingleLine(about)} (${messages} messages)`))
  for (const line of await readLastMessages(endpoint, session, signal)) display.line(display.tone('dim', line))
}

/** Throws `cli/usage`. */
export function assertSessionName(name: string): void {
  if (/^[\w.@-]{1,128}$/.test(name)) return
  throw new HermesError('cli/usage', 'A session name has at most 128 letters, digits and the characters . - _ @.')
}

/** Throws `cli/usage`, `cli/not-found`. */
export async function readToolsets(
  text: string,
  { url, token }: Endpoint,
  context: CliContext,
  session: string | undefined,
): Promise<string[]> {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0) throw new HermesError('cli/usage', '--toolsets names no toolset.')
  const [{ assertToolsetsExist }, { listTools }] = await Promise.all([
    import('./shared/known-toolsets.ts'),
    import('../api/routes/extensions.ts'),
  ])
  const { config } = await readSettings(context)
  const { tools } = await callRoute({ url, token }, listTools, {})
  const { custom_toolsets: custom } = config.current()
  assertToolsetsExist(names, tools, custom)
  if (session !== undefined) {
    const { selectTools } = await import('../agent/toolsets/select-tools.ts')
    const { assertToolsKept } = await import('./shared/frozen-tools.ts')
    assertToolsKept(context, session, selectTools(names, tools, custom))
  }
  return names
}

function printGreeting(context: CliContext, { model, degraded }: Endpoint): void {
  if (context.input.isTTY !== true || context.output.isTTY !== true) return
  const display = createDisplay(context.output, context.environment)
  const name = model === 'demo' ? 'the offline demonstration (no model is configured)' : toSingleLine(model)
  display.line(display.tone('dim', `Connected to ${name}. /help lists commands, Ctrl-C stops a turn, Ctrl-D exits.`))
  for (const reason of degraded) display.line(display.tone('warn', `! ${toSingleLine(reason)}`))
}

/** A script must not take the answers of the demonstration for those of a model. The greeting of a terminal names it, too. */
function reportDemonstration({ input, output, errors }: CliContext, interactive: boolean): void {
  if (interactive && input.isTTY === true && output.isTTY === true) return
  errors.write('hermes: no model is configured: the offline demonstration answers (config/no-model)\n')
}

/** The answer may differ without the plugin. */
function reportPlugins({ errors }: CliContext, { plugins }: Endpoint): void {
  for (const { id, state, reason } of plugins)
    errors.write(`hermes: ${toSingleLine(`plugin ${id} (${state}): ${reason}`)}\n`)
}

function printResumeHint(context: CliContext, session: string): void {
  if (context.output.isTTY !== true) return
  const display = createDisplay(context.output, context.environment)
  display.line(display.tone('dim', `To continue later: hermes chat --session ${session}`))
}

function printWarnings({ errors }: CliContext, reasons: readonly string[]): void {
  for (const reason of new Set(reasons)) errors.write(`hermes: ${toSingleLine(reason)}\n`)
}
