/**
 * Finds the skills of the home, of external folders and of the gateway. The list is kept for as long as the metadata of the folders
 * and files stays the same, and the heads by the version of each file: no watcher is needed.
 */
import type { Dirent, Stats } from 'node:fs'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { messageOf, systemCode } from '../../lib/errors.ts'
import { createFileMemo, type LookAt } from '../../lib/file-memo.ts'
import { openExactly } from '../../lib/files.ts'
import { scan } from '../context-files/scan.ts'
import { parseHead, type SkillHead } from './parse-head.ts'
import {
  maxHeadBytes,
  maxSkillBytes,
  type Skill,
  type SkillListing,
  type SkillOrigin,
  type SkillProblem,
  skillFile,
  toPathName,
} from './skill.ts'

export interface SkillRoot {
  readonly path: string
  readonly origin: Exclude<SkillOrigin, 'plugin'>
}

/** A skill that a plugin has registered. */
export interface PluginSkill {
  /** `<plugin>:<name>` */
  readonly name: string
  /** The folder, or its SKILL.md. */
  readonly path: string
  /** '' for that of its head. */
  readonly description: string
}

export interface SkillCatalog {
  /** Reads what has changed since the last call, and returns the same list where nothing has. Never rejects. */
  read(): Promise<SkillListing>
}

/** Categories within categories. */
const maxDepth = 4
const maxSkills = 1_000
const maxFolders = 5_000

interface KnownHead {
  readonly version: string
  readonly head: SkillHead | undefined
  readonly problems: readonly SkillProblem[]
}

interface Found {
  /** The real path. */
  readonly directory: string
  readonly category: string
  /** The stats of its SKILL.md. */
  readonly stats: Stats
}

/** @param roots in the order of precedence */
export function createSkillCatalog(
  roots: () => readonly SkillRoot[],
  pluginSkills: () => readonly PluginSkill[],
): SkillCatalog {
  let heads: ReadonlyMap<string, KnownHead> = new Map()
  /** What ships with the gateway stays the same while it runs. */
  const bundled = new Map<string, { readonly skills: readonly Skill[]; readonly problems: readonly SkillProblem[] }>()
  const listings = createFileMemo<Promise<SkillListing>>(1)

  async function list(
    folders: readonly SkillRoot[],
    registered: readonly PluginSkill[],
    lookAt: LookAt,
  ): Promise<SkillListing> {
    const next = new Map<string, KnownHead>()
    const problems: SkillProblem[] = []
    const valid: Skill[] = []
    const readKnown = async (directory: string, stats?: Stats) => {
      const path = join(directory, skillFile)
      const known = await readHead(path, heads.get(path), stats)
      if (known === undefined) return undefined
      next.set(path, known)
      problems.push(...known.problems)
      return known.head
    }
    for (const { path, origin } of folders) {
      const known = bundled.get(path)
      if (known !== undefined) {
        valid.push(...known.skills)
        problems.push(...known.problems)
        continue
      }
      const before = { skills: valid.length, problems: problems.length }
      const isBundled = origin === 'bundled'
      const skillFolders = await findSkillFolders(path, problems, isBundled ? () => undefined : lookAt)
      // One after another would wait for the disk each time.
      const loaded = await Promise.all(
        skillFolders.map(async ({ stats, ...folder }) => ({ folder, head: await readKnown(folder.directory, stats) })),
      )
      for (const { folder, head } of loaded) {
        const isUsed = head !== undefined && hasSafeCategory(folder, problems)
        if (isUsed) valid.push({ ...head, ...folder, origin })
      }
      if (isBundled)
        bundled.set(path, { skills: valid.slice(before.skills), problems: problems.slice(before.problems) })
    }
    for (const skill of registered) {
      lookAt(join(folderOf(skill), skillFile))
      valid.push(...(await readPluginSkill(skill, readKnown, problems)))
    }
    heads = next
    const skills = withUniqueNames(valid, problems)
    return { skills: skills.sort(compareSkills), problems: problems.sort(compareProblems) }
  }

  return {
    read() {
      const folders = roots()
      const registered = pluginSkills()
      return listings(JSON.stringify([folders, registered]), (lookAt) => list(folders, registered, lookAt))
    },
  }
}

/** The names of the folders are a part of the index, too. */
function hasSafeCategory({ directory, category }: Omit<Found, 'stats'>, problems: SkillProblem[]): boolean {
  const name = category.replaceAll('/', ' ')
  if (/^[\p{L}\p{N} ._&+-]{0,200}$/u.test(name) && scan(name, 'context').length === 0) return true
  const message = 'the names of the folders above it are no names of categories; rename them'
  problems.push(problemOf(directory, 'invalid-name', message))
  return false
}

async function readPluginSkill(
  { name, path, description }: PluginSkill,
  readKnown: (directory: string) => Promise<SkillHead | undefined>,
  problems: SkillProblem[],
): Promise<Skill[]> {
  const folder = folderOf({ path })
  const directory = await realpath(folder).catch(() => folder)
  const head = await readKnown(directory)
  if (head === undefined) {
    if (!problems.some((problem) => problem.path.startsWith(directory)))
      problems.push(problemOf(join(directory, skillFile), 'unreadable', 'a plugin registers it, but it does not exist'))
    return []
  }
  const shown = description === '' ? head.description : description
  return [{ ...head, name, description: shown, category: '', origin: 'plugin', directory }]
}

export function folderOf({ path }: Pick<PluginSkill, 'path'>): string {
  return basename(path) === skillFile ? join(path, '..') : path
}

function problemOf(path: string, code: SkillProblem['code'], message: string, isLeftOut = true): SkillProblem {
  return { path, code, message, isLeftOut }
}

/** The folders that contain a SKILL.md. A link must not lead out of the root. */
async function findSkillFolders(root: string, problems: SkillProblem[], lookAt: LookAt): Promise<Found[]> {
  lookAt(root)
  const realRoot = await realpath(root).catch(() => undefined)
  if (realRoot === undefined) return []
  const candidates: Found[] = []
  let visited = 0

  async function visit(directory: string, depth: number): Promise<void> {
    lookAt(directory)
    const entries = await listFolders(directory, problems)
    visited += entries.length
    if (visited > maxFolders) return
    const folders = await Promise.all(
      entries.map((entry) => resolveFolder(entry, directory, realRoot ?? root, problems, lookAt)),
    )
    const others: string[] = []
    for (const { path, shownPath, stats } of folders.filter((folder) => folder !== undefined)) {
      if (candidates.length >= maxSkills) return
      if (stats === undefined) others.push(path)
      else candidates.push({ directory: path, category: categoryOf(realRoot ?? root, shownPath), stats })
    }
    if (depth < maxDepth) await Promise.all(others.map((path) => visit(path, depth + 1)))
  }

  await visit(realRoot, 1)
  if (visited > maxFolders || candidates.length >= maxSkills) {
    const message = `only ${maxSkills} skills and ${maxFolders} folders are read; move the others elsewhere`
    problems.push(problemOf(root, 'too-many', message, false))
  }
  // The first of two skills of one name has the name. One without a category could not be told from it otherwise.
  const rank = ({ category, directory }: Found) => `${category === '' ? 0 : 1}${directory}`
  return candidates.sort((a, b) => compareText(rank(a), rank(b)))
}

async function listFolders(directory: string, problems: SkillProblem[]): Promise<Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    return entries
      .filter((entry) => !entry.name.startsWith('.') && entry.name !== 'node_modules')
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    problems.push(problemOf(directory, 'unreadable', `it cannot be read: ${messageOf(error)}`))
    return []
  }
}

async function resolveFolder(entry: Dirent, directory: string, root: string, problems: SkillProblem[], lookAt: LookAt) {
  const shownPath = join(directory, entry.name)
  // The file of a link to a folder, too, which need not exist yet.
  lookAt(join(shownPath, skillFile))
  let path = shownPath
  if (entry.isSymbolicLink()) {
    const target = await realpath(shownPath).catch(() => undefined)
    // A link to a file is no folder, and neither is one that leads nowhere.
    if (target === undefined || !(await isDirectory(target))) return undefined
    if (!target.startsWith(`${root}${sep}`)) {
      problems.push(
        problemOf(shownPath, 'link-outside', `it is a link to ${target}; name that folder in skills.external_dirs`),
      )
      return undefined
    }
    path = target
  }
  const file = join(path, skillFile)
  const stats = await lstat(file).catch(() => undefined)
  if (stats === undefined) return { path, shownPath, stats }
  if (stats.isSymbolicLink()) {
    const target = await realpath(file).catch(() => '')
    if (!target.startsWith(`${path}${sep}`)) {
      problems.push(problemOf(file, 'link-outside', 'it is a link that leads out of its folder; copy the file instead'))
      return undefined
    }
  }
  return { path, shownPath, stats }
}

async function isDirectory(path: string): Promise<boolean> {
  return await lstat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

function categoryOf(root: string, path: string): string {
  return relative(root, path).split(sep).slice(0, -1).join('/')
}

/** Undefined for a missing file. */
async function readHead(path: string, known: KnownHead | undefined, stats?: Stats): Promise<KnownHead | undefined> {
  try {
    const entryStats = stats ?? (await lstat(path))
    const version = versionOf(entryStats)
    // A link within the folder was checked.
    const isLink = entryStats.isSymbolicLink()
    if (known?.version === version && !isLink) return known
    return { version, ...(await parseFile(path, isLink ? await realpath(path) : path)) }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    return {
      version: '',
      head: undefined,
      problems: [problemOf(path, 'unreadable', `it cannot be read: ${messageOf(error)}`)],
    }
  }
}

function versionOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`
}

async function parseFile(path: string, realPath: string): Promise<Omit<KnownHead, 'version'>> {
  const leftOut = (code: SkillProblem['code'], message: string) => ({
    head: undefined,
    problems: [problemOf(path, code, message)],
  })
  const file = await openExactly(realPath)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) return leftOut('unreadable', 'it is not a regular file')
    if (stats.size > maxSkillBytes)
      return leftOut('too-large', `it has ${stats.size} bytes, more than ${maxSkillBytes}; move parts into references/`)
    const buffer = Buffer.alloc(Math.min(stats.size, maxHeadBytes))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const bytes = buffer.subarray(0, bytesRead)
    if (bytes.includes(0)) return leftOut('binary', 'it is a binary file; it must be UTF-8 text')
    const { head, problems } = parseHead(bytes.toString('utf8'), path, basename(join(path, '..')))
    const ids = head === undefined ? [] : scan(`${head.name}\n${head.description}`, 'context')
    if (ids.length === 0) return { head, problems }
    const suspicious = `its description looks like a prompt injection (${ids.join(', ')}); check who wrote it`
    return { head: undefined, problems: [...problems, problemOf(path, 'suspicious', suspicious)] }
  } finally {
    await file.close()
  }
}

/**
 * The first skill of a name has it; another one is called by its category, too. One of the gateway is replaced by another one
 * without a problem.
 */
function withUniqueNames(all: readonly Skill[], problems: SkillProblem[]): Skill[] {
  const byName = new Map<string, Skill>()
  for (const skill of all) {
    const first = byName.get(skill.name)
    const other = { ...skill, name: toPathName(skill) }
    if (first === undefined) byName.set(skill.name, skill)
    else if (skill.origin !== 'bundled') {
      const isLeftOut = toPathName(first) === other.name || byName.has(other.name)
      const use = isLeftOut ? 'is used; rename one of them' : `is used by it; this one is ${other.name}`
      problems.push(
        problemOf(skill.directory, 'duplicate', `${first.directory} has the same name and ${use}`, isLeftOut),
      )
      if (!isLeftOut) byName.set(other.name, other)
    }
  }
  return [...byName.values()]
}

function compareSkills(a: Skill, b: Skill): number {
  return compareText(`${a.category}\0${a.name}`, `${b.category}\0${b.name}`)
}

function compareProblems(a: SkillProblem, b: SkillProblem): number {
  return compareText(a.path, b.path)
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
