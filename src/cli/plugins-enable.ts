/**
 * `hermes plugins enable` and `hermes plugins disable`: edit the lists in config.yaml and keep its comments. A running
 * gateway applies the change at once.
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

/** Each plugin has 30 seconds to load, and one change may load several. */
const reloadTimeoutMs = 120_000

/** Exit code 1 when the plugin cannot be loaded. Throws `cli/not-found`, `config/…`. */
export async function pluginsEnable(context: CliContext, name: string): Promise<void> {
  await setEnabled(context, name, 'enable')
}

export async function pluginsDisable(context: CliContext, name: string): Promise<void> {
  await setEnabled(context, name, 'disable')
}

async function setEnabled(context: CliContext, name: string, action: Action): Promise<void> {
  const known = await loadKnownPlugins(context)
  const { id, state, reason } = findPlugin(name, known.plugins)
  if (action === 'enable' && state === 'invalid') {
    throw new HermesError('cli/failed', `${id} is invalid: ${reason}`, {
      hint: 'Fix it and try again.',
    })
  }
  editConfig(context.home, editsFor(action, id, known))
  const after = findPlugin(id, await reloadPlugins(context, known))
  printResult(context, action, after, known.daemon !== undefined)
}

/** Also removes entries with the bare name, unless several plugins have it. */
function editsFor(action: Action, id: string, { plugins }: KnownPlugins): readonly ListEdit[] {
  const isUnique = plugins.filter((other) => bareName(other.id) === bareName(id)).length === 1
  const names = isUnique ? [id, bareName(id)] : [id]
  const enabled = ['plugins', 'enabled'] as const
  const disabled = ['plugins', 'disabled'] as const
  return action === 'enable'
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
    throw new HermesError('config/unreadable', 'config.yaml cannot be edited without changing other values.', {
      hint: 'Edit `plugins.enabled` and `plugins.disabled` by hand.',
    })
  }
  ensureDirectory(root)
  const stats = statSync(configFile, { throwIfNoEntry: false })
  // Writes the target of a symbolic link and keeps the link.
  writeFileAtomic(stats === undefined ? configFile : realpathSync(configFile), after, (stats?.mode ?? 0o600) & 0o777)
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

/** The configuration without the two lists. */
function withoutLists(value: unknown): unknown {
  const { plugins, ...rest } = toRecord(value)
  const { enabled: _enabled, disabled: _disabled, ...others } = toRecord(plugins)
  return { ...rest, plugins: others }
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** Applies the change in the daemon and returns the new state of all plugins. */
async function reloadPlugins(context: CliContext, { daemon }: KnownPlugins): Promise<readonly KnownPlugin[]> {
  if (daemon !== undefined) return parsePlugins(await daemon.request('/api/plugins/reload', {}, reloadTimeoutMs))
  return (await loadKnownPlugins(context)).plugins
}

function printResult(context: CliContext, action: Action, plugin: KnownPlugin, running: boolean): void {
  const { id, state, reason, warnings } = plugin
  const { output, errors } = context
  if (action === 'disable') {
    output.write(`${id} is disabled${running ? ' and unloaded' : ''}.\n`)
    return
  }
  if (state === 'failed' || state === 'invalid') {
    context.exitCode = exitCodes.failed
    errors.write(`hermes: ${id} is enabled, but cannot be loaded: ${toSingleLine(reason)}\n`)
    return
  }
  const registrations = formatRegistrations(plugin)
  output.write(
    running
      ? `${id} is enabled and loaded${registrations === '' ? '' : `: ${toSingleLine(registrations)}`}.\n`
      : `${id} is enabled.\n`,
  )
  for (const warning of warnings) errors.write(`hermes: ${toSingleLine(warning)}\n`)
}
