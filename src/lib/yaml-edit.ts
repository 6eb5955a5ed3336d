/**
 * Changes lists in a YAML file and leaves everything else as it is, comments included. For files that people write by hand.
 */
import { type Document, isCollection, isMap, isScalar, isSeq, parseDocument } from 'yaml'

export interface ListEdit {
  /** Keys from the top: `['plugins', 'enabled']`. What is missing is made. */
  readonly path: readonly [string, ...string[]]
  /** Put at the end, unless it is there. */
  readonly add?: string
  /** Every one of these is taken out. */
  readonly remove?: readonly string[]
}

/**
 * A single value counts as a list of one. Throws when the text is no YAML, or when something else than keys with values
 * stands where a path leads.
 */
export function editLists(text: string, edits: readonly ListEdit[]): string {
  const document = parseDocument(text, { schema: 'core', keepSourceTokens: true, uniqueKeys: false })
  const [problem] = document.errors
  if (problem !== undefined) throw problem
  let changed = false
  for (const edit of edits) changed = editList(document, edit) || changed
  return changed ? document.toString({ lineWidth: 0, flowCollectionPadding: false }) : text
}

function editList(document: Document, { path, add, remove = [] }: ListEdit): boolean {
  const before = valuesAt(document, path)
  const left = before.filter((value) => !remove.includes(value))
  const after = add === undefined || left.includes(add) ? left : [...left, add]
  if (after.length === before.length && after.every((value, index) => value === before[index])) return false
  const list = document.getIn(path)
  if (!isSeq(list)) {
    ensureParents(document, path)
    document.setIn(path, document.createNode(after))
    return true
  }
  // One by one: each item keeps the comment that stands beside it.
  list.items = list.items.filter((item) => !(isScalar(item) && remove.includes(String(item.value))))
  if (after.length > list.items.length && add !== undefined) list.add(document.createNode(add))
  return true
}

function valuesAt(document: Document, path: ListEdit['path']): string[] {
  const found = document.getIn(path, true)
  if (isSeq(found)) return found.items.flatMap((item) => (isScalar(item) ? [String(item.value)] : []))
  if (isScalar(found) && found.value !== null) return [String(found.value)]
  return []
}

/** `plugins:` with nothing behind it becomes a mapping. */
function ensureParents(document: Document, path: ListEdit['path']): void {
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    const { comment, commentBefore } = document
    document.contents = document.createNode({})
    document.comment = comment
    document.commentBefore = commentBefore
  }
  if (!isMap(document.contents)) throw new Error('expected keys with values at the top of the file')
  for (let depth = 1; depth < path.length; depth++) {
    const parent = path.slice(0, depth)
    const found = document.getIn(parent, true)
    if (found === undefined || (isScalar(found) && found.value === null))
      document.setIn(parent, document.createNode({}))
    else if (!isCollection(found)) throw new Error(`expected keys with values at ${parent.join('.')}`)
  }
}
