/**
 * `hermes chat`: uses the running daemon, or a gateway in this process when none is running.
 */
import { text } from 'node:stream/consumers'
import { HermesError } from '../lib/errors.ts'
import { createChatClient } from './chat-client.ts'
import { createChatPictures } from './chat-pictures.ts'
import { runInteractive, runQuery } from './chat-screen.ts'
import type { CliContext } from './context.ts'
import { createDisplay, toSingleLine } from './display.ts'
import { type Endpoint, interceptSignals, openEndpoint } from './endpoint.ts'
import { readSettings } from './settings.ts'

export interface ChatOptions {
  /** One question; only its answer is written to stdout. `true` or `-`: the question is read from stdin. */
  readonly query?: string | true
  /** The conversation to continue. Default: a new one. */
  readonly session?: string
  /** The toolsets of a new conversation, separated by commas. */
  readonly toolsets?: string
  /** Paths of pictures for the first message. */
  readonly image?: readonly string[]
}

/** Sets the exit code: 0, 1 for a failure, 130 when interrupted. Throws when the chat cannot start. */
export async function chat(context: CliContext, options: ChatOptions): Promise<void> {
  const { query: requested, session } = options
  const query = requested === true || requested === '-' ? await text(context.input) : requested
  if (query?.trim() === '') throw new HermesError('cli/usage', 'The question is empty.')
  if (session !== undefined) assertSessionName(session)
  const signals = interceptSignals()
  try {
    const endpoint = await openEndpoint(context, { platform: 'cli' })
    try {
      const toolsets =
        options.toolsets === undefined ? undefined : await readToolsets(options.toolsets, endpoint, context, session)
      const client = createChatClient({
        baseUrl: endpoint.url,
        token: endpoint.token,
        fetch,
        ...(toolsets === undefined ? {} : { toolsets }),
        ...(session === undefined ? {} : { chat: session }),
      })
      const { signal } = signals
      const pictures = createChatPictures({ client, userHome: context.environment['HOME'] ?? '', signal })
      for (const path of options.image ?? []) await pictures.attach(path)
      const { input, output, errors } = context
      if (endpoint.model === 'demo') reportDemonstration(context, query === undefined)
      reportPlugins(context, endpoint)
      if (query === undefined) {
        printGreeting(context, endpoint)
        context.exitCode = await runInteractive({ client, pictures, input, output, signal })
        if (input.isTTY === true) printResumeHint(context, client.chat)
      } else {
        context.exitCode = await runQuery({
          client,
          query,
          files: pictures.take(),
          signal,
          output,
          errors,
          showNotices: endpoint.isDaemon,
        })
        if (context.exitCode !== 0 && !signal.aborted)
          printWarnings(context, [...endpoint.degraded, ...endpoint.warnings()])
      }
    } finally {
      await endpoint.close()
    }
  } finally {
    signals.remove()
  }
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
  const { assertToolsetsExist, fetchTools } = await import('./known-toolsets.ts')
  const { config } = await readSettings(context)
  const tools = await fetchTools(url, token)
  const { custom_toolsets: custom } = config.current()
  assertToolsetsExist(names, tools, custom)
  if (session !== undefined) {
    const { selectTools } = await import('../agent/toolsets/select-tools.ts')
    const { assertToolsKept } = await import('./frozen-tools.ts')
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
