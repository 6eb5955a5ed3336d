/**
 * `hermes checkpoints`: the files of folders before the agent changed them.
 */

import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Checkpoints, FolderCheckpoint, KeptFolder } from '../agent/checkpoints/checkpoints.ts'
import { openCheckpoints } from '../flows/environments/checkpoints.ts'
import { HermesError } from '../lib/errors.ts'
import { isWithin } from '../lib/files.ts'
import { silentLog } from '../lib/log.ts'
import { toSingleLine, toVisibleLines } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay, reportEmptyList } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'

interface FolderOption {
  /** Undefined: the current directory. */
  readonly folder?: string
}

const timeoutMs = 10 * 60_000
const megabyte = 1024 * 1024

async function open(context: CliContext): Promise<Checkpoints> {
  const { config } = await readSettings(context)
  const { home } = context
  return openCheckpoints({ home, settings: config.current, environment: config.environment, log: silentLog })
}

export async function checkpointsList(context: CliContext, { json }: JsonOption): Promise<void> {
  const checkpoints = await open(context)
  const signal = AbortSignal.timeout(timeoutMs)
  const folders = await checkpoints.folders(signal)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(folders)
  if (folders.length === 0)
    return reportEmptyList(
      context,
      'There are no checkpoints. `checkpoints.enabled: true` in config.yaml lets the agent take them.',
    )
  display.table(
    ['FOLDER', 'ID', 'TAKEN', 'BEFORE', 'SIZE'],
    folders.flatMap(({ folder, checkpoints: list, bytes, isThere }) => {
      const size = `${(bytes / megabyte).toFixed(1)} MB`
      const name = toSingleLine(folder)
      if (list.length === 0) return [[name, '', '', isThere ? '' : 'the folder is gone', size]]
      return list.map(({ id, at, reason }, index) => [
        ...[index === 0 ? name : '', id, new Date(at).toISOString().slice(0, 16).replace('T', ' ')],
        ...[toSingleLine(reason), index === 0 ? size : ''],
      ])
    }),
  )
}

export async function checkpointsStatus(context: CliContext, { json }: JsonOption): Promise<void> {
  const { config } = await readSettings(context)
  const folders = await (await open(context)).folders(AbortSignal.timeout(timeoutMs))
  const status = { enabled: config.current().checkpoints.enabled, ...totalOf(folders) }
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ ...status, directory: context.home.checkpoints })
  display.line(status.enabled ? 'Checkpoints are taken.' : 'No checkpoints are taken: checkpoints.enabled is false.')
  display.line(`${describeTotal(status)} in ${context.home.checkpoints}`)
}

/** Throws `cli/usage` without `yes`, and `checkpoints/unknown` for a folder that has none. */
export async function checkpointsClear(
  context: CliContext,
  { folder, yes, json }: FolderOption & { readonly yes: boolean; readonly json: boolean },
): Promise<void> {
  const checkpoints = await open(context)
  const all = await checkpoints.folders(AbortSignal.timeout(timeoutMs))
  const path = folder === undefined ? undefined : resolve(folder)
  const real = path === undefined ? undefined : await realpath(path).catch(() => path)
  const removed = all.filter((folder) => real === undefined || folder.folder === real)
  if (real !== undefined && removed.length === 0) throw new HermesError('checkpoints/unknown', `(of ${real})`)
  const total = totalOf(removed)
  if (!yes && removed.length > 0)
    throw new HermesError('cli/usage', `This would remove ${describeTotal(total)}.`, { hint: 'Add --yes.' })
  await checkpoints.clear(removed.map((folder) => folder.folder))
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(total)
  display.line(`Removed ${describeTotal(total)}.`)
}

function totalOf(folders: readonly KeptFolder[]) {
  return {
    folders: folders.length,
    checkpoints: folders.reduce((sum, { checkpoints: list }) => sum + list.length, 0),
    bytes: folders.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

function describeTotal({ folders, checkpoints, bytes }: ReturnType<typeof totalOf>): string {
  return `${checkpoints} checkpoints of ${folders} folders, ${(bytes / megabyte).toFixed(1)} MB`
}

export async function checkpointsShow(
  context: CliContext,
  id: string,
  { folder, json }: FolderOption & JsonOption,
): Promise<void> {
  const checkpoints = await open(context)
  const signal = AbortSignal.timeout(timeoutMs)
  const checkpoint = await find(checkpoints, id, folder, signal)
  const diff = await checkpoints.diff(checkpoint, { mayRead: async () => undefined }, signal)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ ...checkpoint, diff })
  if (diff === '') return display.line('Nothing has changed since.')
  for (const line of toVisibleLines(diff.trimEnd())) display.line(line)
}

export async function checkpointsRestore(
  context: CliContext,
  id: string,
  file: string | undefined,
  { folder }: FolderOption,
): Promise<void> {
  const checkpoints = await open(context)
  const signal = AbortSignal.timeout(timeoutMs)
  const checkpoint = await find(checkpoints, id, folder, signal)
  const mayWrite = async () => undefined
  const restored = await checkpoints.restore(checkpoint, { file, session: checkpoint.session, mayWrite }, signal)
  const display = createDisplay(context.output, context.environment)
  const { changed, removed, left, undo } = restored
  for (const path of changed) display.line(`restored  ${toSingleLine(path)}`)
  for (const path of removed) display.line(`removed   ${toSingleLine(path)}`)
  for (const path of left) display.line(`not kept  ${toSingleLine(path)}`)
  if (undo === undefined) return display.line('Nothing to restore: the files are as they were.')
  display.line(`hermes checkpoints restore ${undo.id} undoes this.`)
}

export async function checkpointsPrune(context: CliContext, options: JsonOption): Promise<void> {
  const checkpoints = await open(context)
  const pruned = await checkpoints.prune({ orphans: true }, AbortSignal.timeout(timeoutMs))
  const display = createDisplay(context.output, context.environment)
  if (options.json) return display.json(pruned)
  const freed = (Math.max(0, pruned.freedBytes) / megabyte).toFixed(1)
  display.line(`Removed ${pruned.checkpoints} checkpoints and ${pruned.folders} folders, ${freed} MB.`)
}

/** Throws `checkpoints/unknown`. */
async function find(
  checkpoints: Checkpoints,
  id: string,
  folder: string | undefined,
  signal: AbortSignal,
): Promise<FolderCheckpoint> {
  const path = resolve(folder ?? '.')
  const real = await realpath(path).catch(() => path)
  const all = await checkpoints.list({}, signal)
  // The folder of checkpoints may be around the named one.
  const around = all.filter((checkpoint) => isWithin(real, checkpoint.folder))
  const deepest = around.reduce((length, checkpoint) => Math.max(length, checkpoint.folder.length), 0)
  const match = around.find((checkpoint) => checkpoint.folder.length === deepest && checkpoint.id === id)
  if (match === undefined) throw new HermesError('checkpoints/unknown', `(${id} of ${real})`)
  return match
}
