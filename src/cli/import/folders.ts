/**
 * Finds extensions and single files in another home.
 */
import type { FoundFile, FoundFolder, ImportArea, ImportEntry } from './contract.ts'
import { failed, left, type SourceHome } from './source-home.ts'

interface FolderSearch {
  readonly area: ImportArea
  /** Below the other home, and below this one. */
  readonly from: string
  readonly to: string
  /** A folder with one of these files is taken as a whole; others are searched. */
  readonly marks: readonly string[]
  /** How deep below `from`. */
  readonly depth: number
}

export function findFolders(source: SourceHome, search: FolderSearch, entries: ImportEntry[]): FoundFolder[] {
  const { area, from, to, marks } = search
  const kind = source.kindOf(from)
  if (kind === 'outside')
    entries.push(left(area, from, 'it is a link that leads out of the home; copy what it points to'))
  if (kind !== 'folder') return []
  const folders: FoundFolder[] = []
  const visit = (relative: string, depth: number): void => {
    const names = source.names(relative)
    if (relative !== from && marks.some((mark) => names.includes(mark))) {
      const { files, omitted, problem } = source.folder(relative)
      const target = `${to}${relative.slice(from.length)}`
      if (problem === '') folders.push({ area, name: relative, files, target, change: omitted })
      else entries.push(failed(area, relative, problem))
      return
    }
    if (depth === search.depth) return
    for (const name of names) {
      if (name.startsWith('.') || name.startsWith('__')) continue
      const below = `${relative}/${name}`
      const inner = source.kindOf(below)
      if (inner === 'outside')
        entries.push(left(area, below, 'it is a link that leads out of the home; copy what it points to'))
      else if (inner === 'folder') visit(below, depth + 1)
    }
  }
  visit(from, 0)
  return folders
}

interface FileOptions {
  readonly target?: string
  readonly change?: string
  readonly isText?: boolean
}

/** Nothing for a file that does not exist. */
export function findFile(
  source: SourceHome,
  area: ImportArea,
  name: string,
  entries: ImportEntry[],
  { target = name, change = '', isText = true }: FileOptions = {},
): FoundFile[] {
  const file = isText ? source.text(name) : source.bytes(name)
  if (file === undefined) return []
  if ('problem' in file) {
    entries.push(failed(area, name, file.problem))
    return []
  }
  const content = 'text' in file ? file.text : file.bytes
  return [{ area, name, content, target, change }]
}
