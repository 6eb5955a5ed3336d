/**
 * `hermes plugins test`: loads a plugin in an empty home without a model, sends one message, and shows the plugin's
 * registrations with their calls, durations and errors.
 */
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pluginDirectories } from '../app/plugin-directories.ts'
import { createChatClient } from '../clients/chat/chat-client.ts'
import { runQuery } from '../clients/chat/chat-screen.ts'
import { startGateway } from '../gateway.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { ensureDirectory, writeFileAtomic } from '../lib/files.ts'
import { createHomeLayout, type HomeLayout } from '../lib/home.ts'
import { createRedactor, type Redactor } from '../lib/redact.ts'
import { shorten, toSingleLine } from '../lib/visible-text.ts'
import type { CallbackTrace } from '../plugins/callback-trace.ts'
import { isCalled } from '../plugins/desired-state.ts'
import type { PluginReport } from '../plugins/plugin-report.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { installProcessErrorHandlers } from './kit/process-errors.ts'
import { findPlugin, type KnownPlugin, type KnownPlugins, loadKnownPlugins } from './shared/known-plugins.ts'

export interface PluginsTestOptions {
  readonly message?: string
  readonly json: boolean
}

/** The offline demonstration calls a tool for this message. */
const defaultMessage = 'Please list the files here.'

interface TestRun {
  readonly plugin: PluginReport
  readonly firings: readonly CallbackTrace[]
  readonly answer: string
  /** Why the message was not answered; '' on success. */
  readonly failure: string
  /** Other warnings in the log. */
  readonly warnings: readonly string[]
}

/** Exit code 1 when the plugin cannot be loaded, a callback failed, or the message was not answered. */
export async function pluginsTest(context: CliContext, name: string, options: PluginsTestOptions): Promise<void> {
  const known = await loadKnownPlugins(context)
  const plugin = findPlugin(name, known.plugins)
  if (plugin.state === 'invalid') {
    throw new HermesError('cli/failed', `${plugin.id} is invalid: ${plugin.reason}`)
  }
  const { message = defaultMessage, json } = options
  const folder = mkdtempSync(join(tmpdir(), 'hermes-plugin-'))
  try {
    const home = createHomeLayout(folder)
    const copies = writeTestHome(home, plugin, known)
    const redact = createRedactor({ secrets: known.settings.secrets.all })
    const testRun = forDisplay(await runTest(context, home, plugin.id, message), copies, redact)
    const failed = testRun.failure !== '' || testRun.firings.some(({ error }) => error !== null)
    if (failed || testRun.plugin.state !== 'loaded') context.exitCode = exitCodes.failed
    const display = createDisplay(context.output, context.environment)
    const asked = redact(message)
    if (json) display.json({ message: asked, ...testRun })
    else printTestRun(display, asked, testRun)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A plugin directory in the test home. */
interface PluginCopy {
  /** Error locations and stack frames contain real paths. */
  readonly directory: string
  readonly original: string
}

/**
 * Writes a home with the plugin, its requirements and their settings. It is the working directory of the agent. Returns the
 * copied plugins.
 */
function writeTestHome(home: HomeLayout, plugin: KnownPlugin, { plugins, settings }: KnownPlugins): PluginCopy[] {
  const needed = resolveRequired(plugin, plugins)
  const copies: PluginCopy[] = []
  for (const { id, folder, origin } of needed) {
    if (origin === 'bundled') continue
    const target = join(home.plugins, id)
    ensureDirectory(target)
    cpSync(folder, target, { recursive: true, dereference: true, filter: (path) => !path.endsWith('node_modules') })
    copies.push({ directory: target, original: folder }, { directory: realpathSync(target), original: folder })
  }
  const { plugins: section, memory } = settings.config.current()
  const config = {
    provider: 'demo',
    terminal: { cwd: home.root },
    plugins: { ...section, enabled: needed.map(({ id }) => id), disabled: [] },
    memory,
  }
  // JSON is valid YAML.
  writeFileAtomic(home.configFile, JSON.stringify(config))
  return copies
}

/** Without secrets, and with the files of the plugins instead of their copies, which are deleted after the test. */
function forDisplay(testRun: TestRun, copies: readonly PluginCopy[], redact: Redactor): TestRun {
  const restore = (text: string) =>
    copies.reduce(
      (restored, { directory, original }) => restored.replaceAll(`${directory}/`, `${original}/`),
      redact(text),
    )
  const { plugin, firings, answer, failure, warnings } = testRun
  const { folder } = plugin
  return {
    plugin: {
      ...plugin,
      folder: copies.find(({ directory }) => directory === folder)?.original ?? folder,
      reason: restore(plugin.reason),
      problem: restore(plugin.problem),
      warnings: plugin.warnings.map(restore),
    },
    firings: firings.map((firing) => ({ ...firing, error: firing.error === null ? null : restore(firing.error) })),
    answer: redact(answer),
    failure: restore(failure),
    warnings: warnings.map(restore),
  }
}

function resolveRequired(plugin: KnownPlugin, all: readonly KnownPlugin[]): KnownPlugin[] {
  const needed = new Set([plugin])
  // The iteration of a set includes the values added meanwhile.
  for (const { requires } of needed) {
    for (const required of requires) {
      const plugin = all.find(
        (other) => isCalled(required, other) && other.state !== 'missing' && other.state !== 'invalid',
      )
      if (plugin !== undefined) needed.add(plugin)
    }
  }
  return [...needed]
}

async function runTest(context: CliContext, home: HomeLayout, id: string, message: string): Promise<TestRun> {
  const { version, environment, platformDirectories, program: commandLine } = context
  const firings: CallbackTrace[] = []
  const warnings: string[] = []
  const errorHandlers = installProcessErrorHandlers({
    source: process,
    exit: process.exit,
    print: async (error) => (await import('./kit/safe-errors.ts')).printUncaught(error, context),
    pluginDirectories: pluginDirectories(home).map(({ path }) => path),
  })
  const gateway = await startGateway({
    home,
    version,
    environment: { ...environment, HERMES_HOME: home.root, HERMES_SAFE_MODE: undefined },
    platformDirectories,
    commandLine,
    onlyPlatforms: ['cli'],
    onPluginCall: (firing) => firings.push(firing),
    runAsPlugin: errorHandlers.runAsPlugin,
    log: { stream: { write: (text: string) => warnings.push(...parseWarnings(text)) }, pretty: false },
  }).catch((error: unknown) => {
    errorHandlers.uninstall()
    throw error
  })
  errorHandlers.logTo(gateway.log)
  try {
    await gateway.initialConnectsDone()
    const plugin = findPlugin(id, await gateway.plugins())
    if (plugin.state !== 'loaded') return { plugin, firings, answer: '', failure: '', warnings: [] }
    const { answer, failure } = await sendTestMessage(gateway, message)
    await gateway.stop()
    return { plugin, firings, answer, failure, warnings }
  } finally {
    await gateway.stop(AbortSignal.abort())
    errorHandlers.uninstall()
  }
}

async function sendTestMessage(gateway: { readonly url: string; token(): string }, query: string) {
  const client = createChatClient({ url: gateway.url, token: gateway.token(), fetch })
  const [output, errors] = [createCollector(), createCollector()]
  try {
    const code = await runQuery({
      client,
      query,
      signal: AbortSignal.timeout(60_000),
      output: output.stream,
      errors: errors.stream,
    })
    return { answer: output.text().trim(), failure: code === 0 ? '' : errors.text().trim() || 'no reply was received' }
  } catch (error) {
    return { answer: '', failure: messageOf(error) }
  }
}

function createCollector() {
  const chunks: string[] = []
  const stream = new PassThrough({ encoding: 'utf8' })
  stream.on('data', (chunk: string) => chunks.push(chunk))
  return { stream, text: () => chunks.join('') }
}

/** The warnings and errors in a log, with the hook and the reason. */
function parseWarnings(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const entry: unknown = JSON.parse(line)
      if (typeof entry !== 'object' || entry === null || !('level' in entry) || !('msg' in entry)) return []
      if (entry.level !== 'warn' && entry.level !== 'error') return []
      const hook = 'hook' in entry ? ` (${String(entry.hook)})` : ''
      const reason = 'reason' in entry ? `: ${String(entry.reason)}` : ''
      return [`${String(entry.msg)}${hook}${reason}`]
    })
}

function printTestRun(
  display: Display,
  message: string,
  { plugin, firings, answer, failure, warnings }: TestRun,
): void {
  const { id, state, reason, registered, loadMs } = plugin
  if (state !== 'loaded') {
    display.line(`${display.tone('bad', '✗')} ${id} cannot be loaded: ${toSingleLine(reason)}`)
    return
  }
  display.line(`${display.tone('good', '✓')} ${id} loaded in ${Math.round(loadMs ?? 0)} ms`)
  display.line(`  asked: ${toSingleLine(message)}`)
  display.line(
    failure === ''
      ? `  answer: ${shorten(toSingleLine(answer), 200)}`
      : `  ${display.tone('bad', '✗')} ${toSingleLine(failure)}`,
  )
  display.line()
  const calls = countCalls(registered, firings)
  display.table(
    ['REGISTERED', 'NAME', 'CALLS', 'MEAN', 'ERRORS'],
    calls.map(({ kind, name, count, meanMs, errors }) => [
      kind,
      name,
      String(count),
      count === 0 ? '' : `${meanMs.toFixed(2)} ms`,
      errors.length === 0 ? '' : { text: toSingleLine([...new Set(errors)].join('; ')), tone: 'bad' },
    ]),
  )
  for (const warning of warnings) display.line(`${display.tone('warn', '!')} ${toSingleLine(warning)}`)
}

interface CallStats {
  readonly kind: string
  readonly name: string
  readonly count: number
  readonly meanMs: number
  readonly errors: readonly string[]
}

function countCalls(registered: PluginReport['registered'], firings: readonly CallbackTrace[]): CallStats[] {
  const names = new Map([...registered, ...firings].map(({ kind, name }) => [`${kind} ${name}`, { kind, name }]))
  return [...names.values()].map(({ kind, name }) => {
    const calls = firings.filter((firing) => firing.kind === kind && firing.name === name)
    const total = calls.reduce((sum, { ms }) => sum + ms, 0)
    const errors = calls.flatMap(({ error }) => (error === null ? [] : [error]))
    return { kind, name, count: calls.length, meanMs: calls.length === 0 ? 0 : total / calls.length, errors }
  })
}
