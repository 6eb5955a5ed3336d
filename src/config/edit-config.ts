/**
 * Edits lists and values of config.yaml and keeps the rest, including comments.
 */
import { accessSync, constants, lstatSync, realpathSync, statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { HermesError, messageOf } from '../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import type { HomeLayout } from '../lib/home.ts'
import { parseYaml } from '../lib/yaml.ts'
import { editItems, editLists, editYamlValues, type ItemEdit, type ListEdit, type YamlPath } from '../lib/yaml-edit.ts'

export type { ListEdit }

type ConfigFile = Pick<HomeLayout, 'root' | 'configFile'>

/** Throws `config/unreadable` when the file is not valid, or when the edit would change other values. */
export function editConfigLists(home: ConfigFile, edits: readonly ListEdit[]): void {
  const paths = edits.map(({ path }) => path)
  editConfig(home, (text) => editedText(text, paths, (whole) => editLists(whole, edits)))
}

/** Throws `config/unreadable` as `editConfigLists`, and `config/unwritable`. */
export function editConfigItems(home: ConfigFile, path: YamlPath, edit: ItemEdit): void {
  editConfig(home, (text) => editedText(text, [path], (whole) => editItems(whole, path, edit)))
}

/** A value, a list or a mapping; undefined removes the key. Throws as `editConfigValues`. */
export function setConfigValue(home: ConfigFile, path: YamlPath, value: unknown): void {
  editConfigValues(home, value === undefined ? { set: [], remove: [path] } : { set: [{ path, value }], remove: [] })
}

export interface ConfigEdits {
  readonly set: readonly { readonly path: YamlPath; readonly value: unknown }[]
  readonly remove: readonly YamlPath[]
}

/** Throws `config/unreadable` as `editConfigLists`, and `config/unwritable`. */
export function editConfigValues(home: ConfigFile, edits: ConfigEdits): void {
  editConfig(home, (text) => editedConfigText(text, edits))
}

/** The text of config.yaml with other values. Throws `config/unreadable` as `editConfigLists`. */
export function editedConfigText(before: string, { set, remove }: ConfigEdits): string {
  const isRemoved = (candidate: readonly string[]) => remove.some((path) => isDeepStrictEqual(candidate, path))
  return editedText(
    before,
    [...set.map(({ path }) => path), ...remove],
    (text) => editYamlValues(text, { set, remove: isRemoved }).text,
  )
}

/** The values of config.yaml as they are written there. Throws `config/unreadable`. */
export function readConfigTree({ configFile }: Pick<HomeLayout, 'configFile'>): unknown {
  return parseYaml(readConfigText(configFile), 'config.yaml').value
}

function editConfig(home: ConfigFile, edit: (text: string) => string): void {
  const before = readConfigText(home.configFile)
  const after = edit(before)
  if (after !== before) writeConfigText(home, after)
}

function editedText(before: string, paths: readonly YamlPath[], edit: (text: string) => string): string {
  const yaml = parseYaml(before, 'config.yaml')
  const [problem] = yaml.issues
  if (problem !== undefined) {
    throw new HermesError('config/unreadable', `config.yaml:${problem.line}:${problem.column}: ${problem.message}`)
  }
  const after = applyEdit(before, edit)
  if (
    after !== before &&
    !isDeepStrictEqual(without(paths, yaml.value), without(paths, parseYaml(after, 'config.yaml').value))
  ) {
    const names = [...new Set(paths.map((path) => `\`${path.join('.')}\``))].join(' and ')
    throw new HermesError('config/unreadable', 'config.yaml cannot be edited without changing other values.', {
      hint: `Edit ${names} by hand.`,
    })
  }
  return after
}

/** Throws `config/unwritable`. */
export function writeConfigText({ root, configFile }: ConfigFile, text: string): void {
  try {
    ensureDirectory(root)
    replaceConfigFile(configFile, text)
  } catch (error) {
    throw new HermesError('config/unwritable', `${configFile}: ${messageOf(error)}`, { cause: error })
  }
}

/** Writes the target of a symbolic link and keeps the link. Throws for a file that its owner has made read-only. */
function replaceConfigFile(configFile: string, text: string): void {
  const stats = statSync(configFile, { throwIfNoEntry: false })
  if (stats === undefined) {
    if (lstatSync(configFile, { throwIfNoEntry: false }) !== undefined)
      throw new Error('it is a link to a file that does not exist')
    writeFileAtomic(configFile, text, 0o600)
    return
  }
  accessSync(configFile, constants.W_OK)
  // The superuser may write it nevertheless.
  if ((stats.mode & 0o222) === 0) throw new Error('it is read-only')
  writeFileAtomic(realpathSync(configFile), text, stats.mode & 0o777)
}

/** '' for a file that does not exist. Throws `config/unreadable`. */
export function readConfigText(configFile: string): string {
  try {
    return readTextIfExists(configFile) ?? ''
  } catch (error) {
    throw new HermesError('config/unreadable', `${configFile}: ${messageOf(error)}`, { cause: error })
  }
}

function applyEdit(text: string, edit: (text: string) => string): string {
  try {
    return edit(text)
  } catch (error) {
    throw new HermesError('config/unreadable', `config.yaml: ${messageOf(error)}`, { cause: error })
  }
}

/** The configuration without the values at these paths, and without the mappings that held nothing else. */
function without(paths: readonly YamlPath[], value: unknown): unknown {
  return paths.reduce<unknown>((rest, path) => withoutPath(rest, path), value)
}

function withoutPath(value: unknown, [first, ...rest]: readonly string[]): unknown {
  const { [first ?? '']: inner, ...others } = toRecord(value)
  if (rest.length === 0 || first === undefined) return others
  const remaining = toRecord(withoutPath(inner, rest))
  return Object.keys(remaining).length === 0 ? others : { ...others, [first]: remaining }
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
