/**
 * `hermes memory`: the memory files of the agent, and the plugin with the long-term memory.
 */
import { inspectMemory, type MemoryFileReport } from '../agent/memory/inspect-memory.ts'
import { setConfigValue } from '../config/edit-config.ts'
import { HermesError } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { toSingleLine, toVisibleLines } from '../lib/visible-text.ts'
import { bareName } from '../plugins/desired-state.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Cell, createDisplay, type Display, reportEmptyList } from './kit/display.ts'
import { readSettings, type Settings } from './kit/settings.ts'
import { findPlugin, type KnownPlugin, loadKnownPlugins } from './shared/known-plugins.ts'

const targets = ['memory', 'user'] as const
const providerPath = ['memory', 'provider'] as const

/** Exit code 1 when a file or the provider cannot be used. */
export async function memoryStatus(context: CliContext, { json }: JsonOption): Promise<void> {
  const { daemon, settings, plugins } = await loadKnownPlugins(context)
  const files = filesOf(context, settings)
  const providers = plugins.filter(isProvider)
  const { provider = '' } = settings.config.current().memory
  const chosen = withPlainPlugins(providers, plugins).find((plugin) => provider !== '' && isNamed(plugin, provider))
  const isMissing = provider !== '' && (chosen === undefined || chosen.reason !== '')
  // Only a gateway asks the provider whether it is available.
  const problem = daemon?.report.degraded.find((reason) => reason.startsWith('the memory provider ')) ?? ''
  if (isMissing || problem !== '' || files.some(({ enabled, state }) => enabled && state !== 'ok'))
    context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  if (json)
    return display.json({
      files: files.map(({ entries, ...file }) => ({ ...file, entries: entries.length })),
      provider,
      problem,
      providers: providers.map(toListed),
    })
  display.table(
    ['FILE', 'STATE', 'ENTRIES', 'USED'],
    files.map((file) => [file.path, stateCell(file), String(file.entries.length), file.usage]),
  )
  for (const { enabled, problem } of files) if (enabled && problem !== '') display.line(toSingleLine(problem))
  display.line()
  display.line(providerLine(provider, chosen))
  if (problem !== '') display.line(toSingleLine(problem))
  printProviders(display, providers)
}

function stateCell({ enabled, state }: MemoryFileReport): Cell {
  if (!enabled) return { text: 'off', tone: 'dim' }
  return { text: state.replace('_', ' '), tone: state === 'ok' ? 'good' : state === 'too_long' ? 'warn' : 'bad' }
}

function providerLine(provider: string, chosen: KnownPlugin | undefined): string {
  if (provider === '') return 'Provider: none, only the files above (hermes memory setup)'
  if (chosen === undefined)
    return `Provider: ${toSingleLine(provider)}, which no plugin in a folder memory/ is; hermes plugins list shows all`
  const reason = chosen.reason === '' ? '' : `: ${chosen.reason}`
  return toSingleLine(`Provider: ${provider}, ${chosen.state}${reason}`)
}

function toListed({ id, description, state, reason }: KnownPlugin) {
  return { id, description, state, reason }
}

function printProviders(display: Display, providers: readonly KnownPlugin[]): void {
  if (providers.length === 0) return
  display.line()
  display.table(
    ['PROVIDER', 'STATE', 'DESCRIPTION'],
    providers.map(({ id, state, description }) => [bareName(id), state, description]),
  )
}

/** The memory providers are a category of their own (seed 004). */
function isProvider({ id, state }: KnownPlugin): boolean {
  return id.startsWith('memory/') && state !== 'missing'
}

/** A provider may lie beside other plugins, as in Hermes: `plugins/<name>`. Only the plugin itself knows whether it is one. */
function withPlainPlugins(providers: readonly KnownPlugin[], plugins: readonly KnownPlugin[]): readonly KnownPlugin[] {
  const names = new Set(providers.map(({ id }) => bareName(id)))
  const plain = plugins.filter(({ id, state }) => bareName(id) === id && state !== 'missing' && !names.has(id))
  return [...providers, ...plain]
}

function isNamed({ id, name }: KnownPlugin, provider: string): boolean {
  return id === provider || bareName(id) === provider || name === provider
}

function filesOf({ home }: CliContext, { config }: Settings): readonly MemoryFileReport[] {
  const { memory } = config.current()
  return targets.map((target) => inspectMemory(home.memories, memory, target))
}

/** Prints the entries as they are in the files, also those that the scan blocks. Throws `cli/not-found`. */
export async function memoryShow(context: CliContext, target: string | undefined, { json }: JsonOption): Promise<void> {
  if (target !== undefined && !targets.some((known) => known === target))
    throw new HermesError('cli/not-found', `There is no memory ${JSON.stringify(target)}.`, {
      hint: 'There are memory (the notes of the agent) and user (the profile of the owner).',
    })
  const files = filesOf(context, await readSettings(context)).filter((file) => (target ?? file.target) === file.target)
  const display = createDisplay(context.output, context.environment)
  if (json)
    return display.json({ files: files.map(({ path, target: name, entries }) => ({ target: name, path, entries })) })
  for (const { problem, enabled, path } of files) {
    if (problem !== '') context.errors.write(`hermes: ${toSingleLine(problem)}\n`)
    else if (!enabled) context.errors.write(`hermes: ${toSingleLine(path)} is switched off in the configuration\n`)
  }
  if (files.every(({ entries }) => entries.length === 0))
    return reportEmptyList(context, 'The agent remembers nothing.')
  for (const { path, usage, entries } of files) {
    if (entries.length === 0) continue
    display.line(display.tone('strong', toSingleLine(`${path} [${usage}]`)))
    for (const entry of entries) display.line(`- ${toVisibleLines(entry).join('\n  ')}`)
  }
}

/** Chooses the provider; without a name, lists those that are installed. Throws `cli/not-found`, `config/…`. */
export async function memorySetup(context: CliContext, name: string | undefined, { json }: JsonOption): Promise<void> {
  const { plugins } = await loadKnownPlugins(context)
  const providers = plugins.filter(isProvider)
  if (name === undefined) {
    const display = createDisplay(context.output, context.environment)
    if (json) return display.json(providers.map(toListed))
    if (providers.length === 0) return reportEmptyList(context, 'No memory provider is installed.')
    printProviders(display, providers)
    context.output.write('\n`hermes memory setup <provider>` chooses one.\n')
    return
  }
  const { id, state, reason } = findPlugin(name, withPlainPlugins(providers, plugins))
  if (state === 'invalid')
    throw new HermesError('cli/failed', `${id} is invalid: ${reason}`, { hint: 'Fix it and try again.' })
  const { setUpProvider } = await import('./shared/memory-provider-setup.ts')
  await setUpProvider(context, { id, name: bareName(id) })
  setConfigValue(context.home, providerPath, bareName(id))
  context.output.write(`The memory provider is ${bareName(id)}. \`hermes memory status\` says whether it works.\n`)
}

/** The files stay in use. Throws `config/…`. */
export async function memoryOff(context: CliContext): Promise<void> {
  setConfigValue(context.home, providerPath, undefined)
  context.output.write('No memory provider is in use, only MEMORY.md and USER.md.\n')
}
