/**
 * Edits lists in a YAML file and preserves the rest, including comments. For files that users maintain by hand.
 */
import { type Document, isCollection, isMap, isScalar, isSeq, parseDocument } from 'yaml'

export interface ListEdit {
  /** Keys from the top: `['plugins', 'enabled']`. Missing mappings are created. */
  readonly path: readonly [string, ...string[]]
  /** Appended, unless the list contains it. */
  readonly add?: string
  /** Items to remove. */
  readonly remove?: readonly string[]
}

/**
 * A single value is treated as a list with one item. Throws if the text is not valid YAML, or if a value on the path is not a
 * mapping.
 */
export function editLists(text: string, edits: readonly ListEdit[]): string {
  const document = parseDocument(text, { schema: 'core', keepSourceTokens: true, uniqueKeys: false })
  const [error] = document.errors
  if (error !== undefined) throw error
  let changed = false
  for (const edit of edits) changed = editList(document, edit) || changed
  return changed ? document.toString({ lineWidth: 0, flowCollectionPadding: false }) : text
}

function editList(document: Document, { path, add, remove = [] }: ListEdit): boolean {
  const before = valuesAt(document, path)
  const remaining = before.filter((value) => !remove.includes(value))
  const after = add === undefined || remaining.includes(add) ? remaining : [...remaining, add]
  if (after.length === before.length && after.every((value, index) => value === before[index])) return false
  const list = document.getIn(path)
  if (!isSeq(list)) {
    ensureParents(document, path)
    document.setIn(path, document.createNode(after))
    return true
  }
  // The items are edited in place, so that each one keeps its comment.
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

/** An empty value such as `plugins:` becomes a mapping. */
function ensureParents(document: Document, path: ListEdit['path']): void {
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    const { comment, commentBefore } = document
    document.contents = document.createNode({})
    document.comment = comment
    document.commentBefore = commentBefore
  }
  if (!isMap(document.contents)) throw new Error('expected a mapping at the top of the file')
  for (let depth = 1; depth < path.length; depth++) {
    const parent = path.slice(0, depth)
    const found = document.getIn(parent, true)
    if (found === undefined || (isScalar(found) && found.value === null))
      document.setIn(parent, document.createNode({}))
    else if (!isCollection(found)) throw new Error(`expected a mapping at ${parent.join('.')}`)
  }
}
