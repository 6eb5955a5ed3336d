/**
 * `hermes plugins enable` and `hermes plugins disable`: whether a plugin is loaded. Written into config.yaml, whose comments
 * stay; a running gateway follows at once.
 */
import { realpathSync, statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { HermesError, messageOf } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { parseYaml } from '../lib/yaml.ts'
import { editLists, type ListEdit } from '../lib/yaml-edit.ts'
import { bareName } from '../plugins/desired-state.ts'
import type { CliContext } from './context.ts'
import { toSingleLine } from './display.ts'
import { exitCodes } from './exit-codes.ts'
import {
  findPlugin,
  formatRegistrations,
  type KnownPlugin,
  type KnownPlugins,
  loadKnownPlugins,
  parsePlugins,
} from './known-plugins.ts'

type Action = 'enable' | 'disable'

/** Plugins have half a minute each, and one in Python may bring much with it. */
const reloadTimeoutMs = 120_000

/** Exit code 1 when it is enabled and cannot be loaded. Throws `cli/not-found`, `config/…`. */
export async function pluginsEnable(context: CliContext, name: string): Promise<void> {
  await setEnabled(context, name, 'enable')
}

export async function pluginsDisable(context: CliContext, name: string): Promise<void> {
  await setEnabled(context, name, 'disable')
}

async function setEnabled(context: CliContext, name: string, how: Action): Promise<void> {
  const known = await loadKnownPlugins(context)
  const { id, state, reason } = findPlugin(name, known.plugins)
  if (how === 'enable' && state === 'invalid') {
    throw new HermesError('cli/failed', `${id} cannot be used as it is: ${reason}`, {
      hint: 'Mend it, then try again.',
    })
  }
  editConfig(context.home, editsFor(how, id, known))
  const after = findPlugin(id, await reloadPlugins(context, known))
  printResult(context, how, after, known.daemon !== undefined)
}

/** Other plugins of the same bare name are not meant: only an id names one of several. */
function editsFor(how: Action, id: string, { plugins }: KnownPlugins): readonly ListEdit[] {
  const alone = plugins.filter((other) => bareName(other.id) === bareName(id)).length === 1
  const names = alone ? [id, bareName(id)] : [id]
  const enabled = ['plugins', 'enabled'] as const
  const disabled = ['plugins', 'disabled'] as const
  return how === 'enable'
    ? [
        { path: enabled, add: id, remove: names.filter((other) => other !== id) },
        { path: disabled, remove: names },
      ]
    : [
        { path: enabled, remove: names },
        { path: disabled, add: id, remove: names.filter((other) => other !== id) },
      ]
}

function editConfig({ root, configFile }: HomeLayout, edits: readonly ListEdit[]): void {
  const before = readConfigText(configFile)
  const yaml = parseYaml(before, 'config.yaml')
  const [problem] = yaml.issues
  if (problem !== undefined) {
    throw new HermesError('config/unreadable', `config.yaml:${problem.line}:${problem.column}: ${problem.message}`)
  }
  const after = applyEdits(before, edits)
  if (after === before) return
  if (!isDeepStrictEqual(withoutLists(yaml.value), withoutLists(parseYaml(after, 'config.yaml').value))) {
    throw new HermesError('config/unreadable', 'config.yaml cannot be changed without changing something else in it.', {
      hint: 'Add the plugin to `plugins.enabled` by hand.',
    })
  }
  ensureDirectory(root)
  const there = statSync(configFile, { throwIfNoEntry: false })
  // A linked file stays linked.
  writeFileAtomic(there === undefined ? configFile : realpathSync(configFile), after, (there?.mode ?? 0o600) & 0o777)
}

function readConfigText(configFile: string): string {
  try {
    return readTextIfExists(configFile) ?? ''
  } catch (error) {
    throw new HermesError('config/unreadable', `${configFile}: ${messageOf(error)}`, { cause: error })
  }
}

function applyEdits(text: string, edits: readonly ListEdit[]): string {
  try {
    return editLists(text, edits)
  } catch (error) {
    throw new HermesError('config/unreadable', `config.yaml: ${messageOf(error)}`, { cause: error })
  }
}

/** Everything but the two lists. */
function withoutLists(value: unknown): unknown {
  const { plugins, ...rest } = toRecord(value)
  const { enabled: _enabled, disabled: _disabled, ...others } = toRecord(plugins)
  return { ...rest, plugins: others }
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** What has become of it: the daemon has loaded or unloaded it by then. */
async function reloadPlugins(context: CliContext, { daemon }: KnownPlugins): Promise<readonly KnownPlugin[]> {
  if (daemon !== undefined) return parsePlugins(await daemon.request('/api/plugins/reload', {}, reloadTimeoutMs))
  return (await loadKnownPlugins(context)).plugins
}

function printResult(context: CliContext, how: Action, plugin: KnownPlugin, running: boolean): void {
  const { id, state, reason, warnings } = plugin
  const { output, errors } = context
  if (how === 'disable') {
    output.write(`${id} is disabled${running ? ' and unloaded' : ''}.\n`)
    return
  }
  if (state === 'failed' || state === 'invalid') {
    context.exitCode = exitCodes.failed
    errors.write(`hermes: ${id} is enabled, but cannot be loaded: ${toSingleLine(reason)}\n`)
    return
  }
  const what = formatRegistrations(plugin)
  output.write(
    running ? `${id} is enabled and loaded${what === '' ? '' : `: ${toSingleLine(what)}`}.\n` : `${id} is enabled.\n`,
  )
  for (const warning of warnings) errors.write(`hermes: ${toSingleLine(warning)}\n`)
}
