/**
 * Writes skills for the agent and for the command line. Only the home is written. Each file is replaced atomically after its
 * text was checked and scanned, so that a crash leaves the old or the new skill.
 */
import { mkdir, realpath, rename, rm, rmdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { isHermesError, systemCode } from '../../lib/errors.ts'
import { isWithin } from '../../lib/files.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import { scanLongText } from '../context-files/scan.ts'
import { readTextFile, writeFileAtomic } from '../support/files.ts'
import { replaceText } from '../support/replace-text.ts'
import type { ToolFailure } from '../support/result-json.ts'
import { hiddenName, removeLeftovers } from './leftovers.ts'
import { bodyOf, parseHead } from './parse-head.ts'
import {
  isSkillName,
  lockFile,
  maxLinkedBytes,
  maxSkillBytes,
  type Skill,
  type SkillProblem,
  skillFile,
  toHeadName,
} from './skill.ts'
import { isInside } from './view-skill.ts'

export interface SkillChange {
  readonly action: 'create' | 'patch' | 'edit' | 'delete' | 'write_file' | 'remove_file'
  readonly name: string
  readonly content?: string | undefined
  readonly category?: string | undefined
  readonly old_string?: string | undefined
  readonly new_string?: string | undefined
  readonly file_path?: string | undefined
  readonly file_content?: string | undefined
}

export type SkillChangeResult =
  | { readonly ok: true; readonly path: string; readonly warnings: readonly string[] }
  | ({ readonly ok: false } & ToolFailure)

/** Where linked files may be. */
const linkedFolders = ['references', 'templates', 'scripts', 'assets', 'examples']

/** Finds the skill of a name that counts. */
type FindSkill = (name: string) => Promise<Skill | undefined>
/** A named point for crash tests; does nothing in production. */
type Failpoint = ((point: string) => void) | undefined

/**
 * Rejects with system errors, and `store/…`. Changes run one after another, also those of other processes.
 *
 * @param folder `<home>/skills`
 */
export function createSkillWriter(
  folder: string,
  find: FindSkill,
  failpoint: Failpoint,
): (change: SkillChange) => Promise<SkillChangeResult> {
  let last: Promise<unknown> = Promise.resolve()

  async function changeLocked(change: SkillChange): Promise<SkillChangeResult> {
    const root = await realRoot(folder)
    try {
      return await withFileLock(join(root, lockFile), () => applyChange(change, root))
    } catch (error) {
      if (isHermesError(error, 'store/locked'))
        return refused('locked', 'Another process is changing the skills. Nothing was changed; try again.')
      throw error
    }
  }

  async function applyChange(change: SkillChange, root: string): Promise<SkillChangeResult> {
    const { action, name } = change
    const skill = await find(name)
    if (action === 'create') return await createSkill(change, skill, root, failpoint)
    if (skill === undefined) return refused('not_found', `There is no skill ${name}; skills_list shows them.`)
    if (skill.origin !== 'home')
      return refused('read_only', `${name} is not in ${folder}. create one of the same name there: it is used instead.`)
    switch (action) {
      case 'edit':
        return change.content === undefined
          ? refused('no_content', 'edit needs content: the whole new SKILL.md.')
          : await writeSkillFile(skill.directory, change.content, toHeadName(skill), failpoint)
      case 'patch':
        return await patchFile(skill, change, failpoint)
      case 'write_file':
        return await writeLinkedFile(skill, change, failpoint)
      case 'remove_file':
        return await removeLinkedFile(skill, change)
      case 'delete':
        return await deleteSkill(skill, root)
    }
  }

  return (change) => {
    const result = last.then(() => changeLocked(change))
    last = result.catch(() => undefined)
    return result
  }
}

/** @param existing the skill that has the name now */
async function createSkill(
  { name, content, category = '' }: SkillChange,
  existing: Skill | undefined,
  root: string,
  failpoint: Failpoint,
): Promise<SkillChangeResult> {
  if (!isSkillName(name))
    return refused('invalid_name', 'A name has at most 64 small letters, digits, ".", "_" and "-".')
  if (content === undefined) return refused('no_content', 'create needs content: the whole SKILL.md with its head.')
  if (category !== '' && !category.split('/').every(isSkillName))
    return refused('invalid_category', 'A category is one name, such as research.')
  if (existing?.origin === 'home')
    return refused('exists', `${name} exists in ${existing.directory}; use edit or patch.`)
  const directory = join(root, category, name)
  const parent = await realParent(directory)
  if (parent !== undefined && parent !== root && !isInside(parent, root))
    return refused('outside', `${category} is a link that leads out of ${root}.`)
  return await writeSkillFile(directory, content, name, failpoint)
}

/** The real path of the nearest folder that exists. */
async function realParent(path: string): Promise<string | undefined> {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const real = await realpath(folder).catch(() => undefined)
    if (real !== undefined) return real
  }
  return undefined
}

async function realRoot(root: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  return await realpath(root)
}

/** @param name that the head must have */
async function writeSkillFile(
  directory: string,
  content: string,
  name: string,
  failpoint: Failpoint,
): Promise<SkillChangeResult> {
  const path = join(directory, skillFile)
  const checked = await checkSkillText(content, path, name)
  if (!checked.ok) return checked
  failpoint?.('skill:before-write')
  await writeFileAtomic(path, content)
  failpoint?.('skill:written')
  return { ok: true, path, warnings: checked.warnings }
}

type CheckedText = { readonly ok: true; readonly warnings: readonly string[] } | ({ readonly ok: false } & ToolFailure)

/** Whether a text may become the SKILL.md of this name. */
export async function checkSkillText(text: string, path: string, name: string): Promise<CheckedText> {
  if (Buffer.byteLength(text) > maxSkillBytes)
    return refused('too_large', `SKILL.md would have more than ${maxSkillBytes} bytes; move parts into references/.`)
  const { head, problems } = parseHead(text, path, name)
  const [fatal] = problems.filter(isFatal)
  if (fatal !== undefined) return refused(fatal.code, `SKILL.md was not written: ${fatal.message}.`)
  if (head?.name !== name) return refused('invalid_name', `The name in the head must be ${name}.`)
  if (bodyOf(text) === '') return refused('no_content', 'There are no instructions after the head.')
  const suspicious = await checkText(text)
  return suspicious ?? { ok: true, warnings: problems.map(({ message }) => message) }
}

function isFatal({ code, isLeftOut }: SkillProblem): boolean {
  return isLeftOut || code === 'no-description'
}

async function checkText(text: string): Promise<({ readonly ok: false } & ToolFailure) | undefined> {
  if (text.includes('\0')) return refused('binary', 'Only text can be written; nothing was written.')
  const ids = await scanLongText(text, 'context')
  if (ids.length === 0) return undefined
  return refused('suspicious', `Nothing was written: the text looks like a prompt injection (${ids.join(', ')}).`)
}

async function patchFile(skill: Skill, change: SkillChange, failpoint: Failpoint): Promise<SkillChangeResult> {
  const { old_string: search = '', new_string: replacement, file_path: filePath = skillFile } = change
  if (search === '' || replacement === undefined)
    return refused('no_content', 'patch needs old_string, which must occur once, and new_string.')
  const isSkillFile = filePath === skillFile
  const target = isSkillFile
    ? { ok: true as const, path: join(skill.directory, skillFile) }
    : linkedPath(skill, filePath)
  if (!target.ok) return target
  const path = await realpath(target.path).catch(() => undefined)
  if (path === undefined || !isInside(path, skill.directory))
    return refused('not_found', `${filePath} is not a file of ${skill.name}.`)
  const before = await versionOf(path)
  const file = await readTextFile(path, filePath, isSkillFile ? maxSkillBytes : maxLinkedBytes)
  if (!file.ok) return file
  if (!file.lossless) return refused('not_utf8', `${filePath} is not UTF-8 text; a change would damage it.`)
  const replaced = replaceText({ text: file.text, search, replacement, all: false })
  if (!replaced.ok) return replaced
  failpoint?.('skill:patch-prepared')
  // An editor takes no lock.
  if ((await versionOf(path)) !== before)
    return refused('changed', `${filePath} has changed meanwhile. Nothing was changed; read it again.`)
  if (isSkillFile) return await writeSkillFile(skill.directory, replaced.text, toHeadName(skill), failpoint)
  return await writeText(path, replaced.text, isInScripts(path, skill), failpoint)
}

async function versionOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true })
  return `${ino} ${size} ${mtimeNs}`
}

async function writeLinkedFile(
  skill: Skill,
  { file_path: filePath = '', file_content: text }: SkillChange,
  failpoint: Failpoint,
): Promise<SkillChangeResult> {
  if (text === undefined) return refused('no_content', 'write_file needs file_path and file_content.')
  const target = linkedPath(skill, filePath)
  if (!target.ok) return target
  const parent = await realParent(target.path)
  const real = await realpath(target.path).catch(() => target.path)
  if (parent === undefined || !isWithin(parent, skill.directory) || !isInside(real, skill.directory))
    return refused('outside', `${filePath} leads out of the skill.`)
  return await writeText(target.path, text, isInScripts(target.path, skill), failpoint)
}

function isInScripts(path: string, { directory }: Skill): boolean {
  return isInside(path, join(directory, 'scripts'))
}

async function writeText(
  path: string,
  text: string,
  isScript: boolean,
  failpoint: Failpoint,
): Promise<SkillChangeResult> {
  if (Buffer.byteLength(text) > maxLinkedBytes)
    return refused('too_large', `A file of a skill has at most ${maxLinkedBytes} bytes; nothing was written.`)
  const suspicious = await checkText(text)
  if (suspicious !== undefined) return suspicious
  failpoint?.('skill:before-write')
  // `hermes skills install` sets the same mode, so that instructions may run a script by its path.
  await writeFileAtomic(path, text, isScript ? 0o700 : 0o600)
  failpoint?.('skill:written')
  return { ok: true, path, warnings: [] }
}

async function removeLinkedFile(skill: Skill, { file_path: filePath = '' }: SkillChange): Promise<SkillChangeResult> {
  const target = linkedPath(skill, filePath)
  if (!target.ok) return target
  const parent = await realpath(dirname(target.path)).catch(() => undefined)
  if (parent === undefined || !isWithin(parent, skill.directory))
    return refused('not_found', `${filePath} is not a file of ${skill.name}.`)
  try {
    await unlink(target.path)
  } catch (error) {
    const code = systemCode(error)
    if (code !== 'ENOENT' && code !== 'EISDIR' && code !== 'EPERM') throw error
    return refused('not_found', `${filePath} is not a file of ${skill.name}.`)
  }
  return { ok: true, path: target.path, warnings: [] }
}

function linkedPath(
  { directory }: Skill,
  filePath: string,
): { readonly ok: true; readonly path: string } | ({ readonly ok: false } & ToolFailure) {
  const folders = linkedFolders.map((folder) => `${folder}/`).join(', ')
  const path = resolve(directory, filePath)
  const isLinked =
    !isAbsolute(filePath) &&
    !filePath.includes('\0') &&
    linkedFolders.some((folder) => isInside(path, join(directory, folder)))
  return isLinked ? { ok: true, path } : refused('outside', `file_path must be in ${folders} of the skill.`)
}

/** Renamed first, so that a crash leaves no part of a skill. */
async function deleteSkill({ directory }: Skill, root: string): Promise<SkillChangeResult> {
  await removeLeftovers(dirname(directory))
  const removed = join(dirname(directory), hiddenName('deleted', basename(directory)))
  await rename(directory, removed)
  await rm(removed, { recursive: true, force: true })
  // A category without skills; others are not empty.
  if (dirname(directory) !== root) await rmdir(dirname(directory)).catch(() => undefined)
  return { ok: true, path: directory, warnings: [] }
}

function refused(code: string, reason: string): { readonly ok: false } & ToolFailure {
  return { ok: false, code, reason }
}
