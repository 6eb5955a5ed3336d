/**
 * Reads a skill for the agent: its instructions with the list of its other files, or one of these files. Every path is checked
 * against its real path, so that no link and no `../` leads out of the folder of the skill.
 */
import type { Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { blockedText, scanLongText } from '../context-files/scan.ts'
import { readTextFile } from '../support/files.ts'
import type { ToolFailure } from '../support/result-json.ts'
import { bodyOf } from './parse-head.ts'
import { maxLinkedBytes, maxSkillBytes, type Skill, skillFile } from './skill.ts'

export type SkillText = { readonly ok: true; readonly text: string } | ({ readonly ok: false } & ToolFailure)

/** The instructions of a skill without their head, with the folder in place of `${HERMES_SKILL_DIR}`. Rejects with system errors. */
export async function readInstructions({ name, directory, origin }: Skill): Promise<SkillText> {
  const path = await realpath(join(directory, skillFile)).catch(() => undefined)
  if (path === undefined || !isInside(path, directory)) return notThere(`SKILL.md of ${name}`)
  const file = await readTextFile(path, `SKILL.md of ${name}`, maxSkillBytes)
  if (!file.ok) return file
  // What ships with the gateway is its own code.
  const ids = origin === 'bundled' ? [] : await scanLongText(file.text, 'context')
  if (ids.length > 0) return blocked(`SKILL.md of ${name}`, ids)
  return { ok: true, text: bodyOf(file.text).replaceAll(directoryVariable, directory) }
}

/** Hermes writes the variable in this form. */
const directoryVariable = `\${HERMES_SKILL_DIR}`

/** A file of a skill. Rejects with system errors. */
export async function readLinkedFile({ name, directory, origin }: Skill, filePath: string): Promise<SkillText> {
  const resolved = await resolveInside(directory, filePath)
  if (!resolved.ok) return resolved
  const file = await readTextFile(resolved.path, `${filePath} of ${name}`, maxLinkedBytes)
  if (!file.ok) return file
  const ids = origin === 'bundled' ? [] : await scanLongText(file.text, 'context')
  return ids.length > 0 ? blocked(filePath, ids) : { ok: true, text: file.text }
}

function blocked(file: string, ids: readonly string[]): SkillText {
  return { ok: false, code: 'suspicious', reason: blockedText(file, ids) }
}

function notThere(what: string): SkillText {
  return { ok: false, code: 'not_found', reason: `${what} does not exist.` }
}

/** The real path of an existing file of the skill. */
async function resolveInside(
  directory: string,
  filePath: string,
): Promise<{ readonly ok: true; readonly path: string } | ({ readonly ok: false } & ToolFailure)> {
  const outside = { ok: false, code: 'outside', reason: 'file_path must lead to a file of the skill.' } as const
  if (filePath.includes('\0') || isAbsolute(filePath) || !isInside(resolve(directory, filePath), directory))
    return outside
  const path = await realpath(join(directory, filePath)).catch(() => undefined)
  if (path === undefined)
    return {
      ok: false,
      code: 'not_found',
      reason: `${filePath} does not exist; skill_view without file_path lists the files.`,
    }
  return isInside(path, directory) ? { ok: true, path } : outside
}

export function isInside(path: string, directory: string): boolean {
  return path.startsWith(`${directory}${sep}`)
}

const maxListedFiles = 100
const maxDepth = 3

/** The other files of a skill, by their folder: `references`, `scripts` … Rejects with system errors. */
export async function listLinkedFiles(directory: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const paths = await listFiles(directory, directory, 0)
  const byFolder: Record<string, string[]> = {}
  for (const path of paths.filter((path) => path !== skillFile).slice(0, maxListedFiles)) {
    const folder = path.includes('/') ? (path.split('/')[0] ?? '') : 'other'
    byFolder[folder] = [...(byFolder[folder] ?? []), path]
  }
  return byFolder
}

async function listFiles(directory: string, root: string, depth: number): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const paths: string[] = []
  for (const entry of entries.filter(isListed).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (paths.length > maxListedFiles) break
    const path = join(directory, entry.name)
    // A link to a directory could lead anywhere.
    if (entry.isFile()) paths.push(relative(root, path).split(sep).join('/'))
    else if (entry.isDirectory() && depth < maxDepth) paths.push(...(await listFiles(path, root, depth + 1)))
  }
  return paths
}

function isListed({ name }: Dirent): boolean {
  return !name.startsWith('.') && name !== 'node_modules' && name !== '__pycache__'
}
