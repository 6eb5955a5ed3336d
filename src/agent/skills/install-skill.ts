/**
 * Installs skills from a folder or an archive into the home. Everything is read, checked and scanned first; then the folder of each
 * skill appears as a whole.
 */
import { mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf, systemCode } from '../../lib/errors.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import { scanLongText } from '../context-files/scan.ts'
import { type ArchiveFile, maxFiles, maxTotalBytes, readArchive } from './archive.ts'
import { hiddenName, removeLeftovers } from './leftovers.ts'
import { checkSkillText } from './manage-skill.ts'
import { parseHead } from './parse-head.ts'
import { isSkillName, lockFile, maxLinkedBytes, type Skill, skillFile } from './skill.ts'

/** Why nothing was installed: a sentence for the operator. */
export class InstallError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InstallError'
  }
}

export interface InstallOptions {
  /** A folder with one or more skills, or an archive of it. */
  readonly source: string
  /** `<home>/skills` */
  readonly root: string
  /** '' for none. */
  readonly category: string
  /** Replaces a skill that exists. */
  readonly replace: boolean
  /** The skill of the home with this name. */
  find(name: string): Promise<Skill | undefined>
}

export interface InstalledSkill {
  readonly name: string
  readonly directory: string
  readonly warnings: readonly string[]
  /** The environment variables that its commands get. */
  readonly variables: readonly string[]
}

/** Rejects with `InstallError`, `store/…` or a system error; nothing is installed then. */
export async function installSkills(options: InstallOptions): Promise<InstalledSkill[]> {
  const { source, root, category, replace, find } = options
  if (category !== '' && !isSkillName(category)) throw new InstallError('A category is one name, such as research.')
  const skills = await checkSource(source)
  const targets = skills.map((skill) => ({ ...skill, directory: join(root, category, skill.name) }))
  await mkdir(root, { recursive: true, mode: 0o700 })
  await withFileLock(join(root, lockFile), async () => {
    for (const { directory, name } of targets) await checkTarget(directory, replace, await find(name))
    await removeLeftovers(join(root, category))
    for (const { directory, name, files } of targets) await writeSkill(directory, name, files)
  })
  return targets.map(({ name, directory, warnings, variables }) => ({ name, directory, warnings, variables }))
}

/** Reads, checks and scans the skills of a folder or an archive. Rejects as `installSkills`. */
export async function checkSource(source: string) {
  const files = await readSource(source)
  const skills = await Promise.all(groupBySkill(files).map((skill) => checkSkill(skill, source)))
  if (skills.length === 0) throw new InstallError(`${source} contains no ${skillFile}.`)
  const names = skills.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new InstallError(`${source} contains two skills of the name ${twice}.`)
  return skills
}

/** @param existing the skill of the home that has the name now */
async function checkTarget(directory: string, replace: boolean, existing: Skill | undefined): Promise<void> {
  if (!replace && (await exists(directory)))
    throw new InstallError(`${directory} exists; --replace replaces the skill.`)
  // The name alone would still mean the other one.
  const isElsewhere =
    existing !== undefined && existing.directory !== (await realpath(directory).catch(() => directory))
  if (!isElsewhere) return
  const { name, category } = existing
  const advice = category === '' ? 'leave --category out' : `use --category ${category}`
  throw new InstallError(`${existing.directory} has the name ${name} already: ${advice} and --replace to replace it.`)
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

async function readSource(source: string): Promise<readonly ArchiveFile[]> {
  const stats = await stat(source).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') throw new InstallError(`${source} does not exist.`)
    throw error
  })
  if (!stats.isFile() && !stats.isDirectory()) throw new InstallError(`${source} is no folder and no archive.`)
  if (stats.isDirectory()) return await readFolder(source)
  if (stats.size > maxTotalBytes) throw new InstallError(`${source} has more than ${maxTotalBytes} bytes.`)
  try {
    return readArchive(await readFile(source))
  } catch (error) {
    throw new InstallError(`${source} was not installed: ${messageOf(error)}.`, { cause: error })
  }
}

/** Links are refused: they would be read with the rights of the operator. */
async function readFolder(root: string): Promise<ArchiveFile[]> {
  const files: ArchiveFile[] = []
  let total = 0
  const visit = async (folder: string, path: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules' || entry.name === '__pycache__') continue
      const below = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) await visit(join(folder, entry.name), below)
      else if (!entry.isFile())
        throw new InstallError(`${join(folder, entry.name)} is a link or no file; copy the file.`)
      else {
        total += (await stat(join(folder, entry.name))).size
        if (total > maxTotalBytes) throw new InstallError(`${root} has more than ${maxTotalBytes} bytes.`)
        const content = await readFile(join(folder, entry.name))
        files.push({ path: below, content })
        if (files.length > maxFiles) throw new InstallError(`${root} has more than ${maxFiles} files.`)
      }
    }
  }
  await visit(root, '')
  return files
}

interface SkillFiles {
  /** The name of the folder; '' for the top of an archive. */
  readonly folder: string
  readonly files: readonly ArchiveFile[]
}

/** Files outside of skills, such as a README, are left out. */
function groupBySkill(files: readonly ArchiveFile[]): SkillFiles[] {
  const folders = files
    .filter(({ path }) => path === skillFile || path.endsWith(`/${skillFile}`))
    .map(({ path }) => path.slice(0, -skillFile.length))
  // A skill within a skill is a file of the outer one.
  const outer = folders.filter((folder) => !folders.some((other) => other !== folder && folder.startsWith(other)))
  return outer.map((folder) => ({
    folder: folder.split('/').at(-2) ?? '',
    files: files
      .filter(({ path }) => path.startsWith(folder))
      .map(({ path, content }) => ({ path: path.slice(folder.length), content })),
  }))
}

async function checkSkill({ folder, files }: SkillFiles, source: string) {
  const text = files.find(({ path }) => path === skillFile)?.content.toString('utf8') ?? ''
  const { head } = parseHead(text, skillFile, folder)
  const name = head?.name ?? folder
  const checked = await checkSkillText(text, skillFile, name)
  if (!checked.ok) throw new InstallError(`${source} (${name || 'a skill'}) was not installed. ${checked.reason}`)
  for (const { path, content } of files) {
    if (content.length > maxLinkedBytes)
      throw new InstallError(`${path} of ${name} has more than ${maxLinkedBytes} bytes; nothing was installed.`)
    // A binary file is no text for the model.
    const ids = content.includes(0) ? [] : await scanLongText(content.toString('utf8'), 'context')
    if (ids.length > 0)
      throw new InstallError(
        `${path} of ${name} looks like a prompt injection (${ids.join(', ')}); nothing was installed.`,
      )
  }
  const variables = head?.variables.map((variable) => variable.name) ?? []
  return { name, files, warnings: checked.warnings, variables }
}

/** A crash leaves the old skill, the new one, or a hidden folder, and never a part of a skill. */
async function writeSkill(directory: string, name: string, files: readonly ArchiveFile[]): Promise<void> {
  const parent = dirname(directory)
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const staged = join(parent, hiddenName('new', name))
  const old = join(parent, hiddenName('old', name))
  try {
    for (const { path, content } of files) {
      await mkdir(dirname(join(staged, path)), { recursive: true, mode: 0o700 })
      await writeFile(join(staged, path), content, { mode: path.startsWith('scripts/') ? 0o700 : 0o600, flag: 'wx' })
    }
    const folder = await open(staged, 'r')
    await folder.sync().finally(() => folder.close())
    if (await exists(directory)) await rename(directory, old)
    await rename(staged, directory)
  } finally {
    await rm(staged, { recursive: true, force: true })
    await rm(old, { recursive: true, force: true })
  }
}
