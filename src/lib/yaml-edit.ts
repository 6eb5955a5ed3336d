/**
 * Edits lists and single values of a YAML file and preserves the rest, including comments. For files that users maintain by hand.
 */
import { type Document, isMap, isScalar, isSeq, type Node, parseDocument, visit } from 'yaml'

/** Keys from the top. */
export type YamlPath = readonly [string, ...string[]]

export interface ListEdit {
  /** Keys from the top: `['plugins', 'enabled']`. Missing mappings are created. */
  readonly path: YamlPath
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
  const document = parse(text)
  let changed = false
  for (const edit of edits) changed = editList(document, edit) || changed
  return changed ? print(document) : text
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

function valuesAt(document: Document, path: YamlPath): string[] {
  const node = document.getIn(path, true)
  if (isSeq(node)) return node.items.flatMap((item) => (isScalar(item) ? [String(item.value)] : []))
  if (isScalar(node) && node.value !== null) return [String(node.value)]
  return []
}

export interface YamlValueEdits {
  /** Whether to remove the value at this path, and its key. Items of lists have their index in the path. */
  readonly remove?: (path: readonly string[], value: unknown) => boolean
  readonly set?: readonly { readonly path: YamlPath; readonly value: unknown }[]
  /** A comment may hold a value that was removed. */
  readonly removesComments?: boolean
}

/** Throws if the text is not valid YAML, or if a value on a path of `set` is not a mapping. */
export function editYamlValues(
  text: string,
  { remove = () => false, set = [], removesComments = false }: YamlValueEdits,
) {
  const document = parse(text)
  const removed: { readonly path: readonly string[]; readonly value: unknown }[] = []
  visit(document, {
    Pair(_key, pair, ancestors) {
      const path = [...pathOf(ancestors), isScalar(pair.key) ? String(pair.key.value) : '']
      const value = toPlain(document, pair.value)
      if (!remove(path, value)) return undefined
      removed.push({ path, value })
      return visit.REMOVE
    },
    Scalar(key, node, ancestors) {
      // The value of a key is judged with its key.
      if (typeof key !== 'number') return undefined
      const path = [...pathOf(ancestors), String(key)]
      if (!remove(path, node.value)) return undefined
      removed.push({ path, value: node.value })
      return visit.REMOVE
    },
  })
  for (const { path, value } of set) {
    ensureParents(document, path)
    // A plain value keeps the comment of the one that it replaces.
    document.setIn(path, typeof value === 'object' ? document.createNode(value) : value)
  }
  if (removesComments) dropComments(document)
  else if (removed.length === 0 && set.length === 0) return { text, removed }
  return { text: print(document), removed }
}

/**
 * Replaces values and comments in the text and leaves everything else as it is written. For texts that people only read. Throws if
 * the text is not valid YAML.
 * @param value returns what is shown in place of the value at a path; undefined leaves it
 */
export function maskYaml(
  text: string,
  value: (path: readonly string[]) => string | undefined,
  comment: (text: string) => string,
): string {
  const masks: { readonly from: number; readonly to: number; readonly shown: string }[] = []
  visit(parse(text), {
    Scalar(key, { range }, ancestors) {
      if (key === 'key' || range == null) return
      const shown = value([...pathOf(ancestors), ...(typeof key === 'number' ? [String(key)] : [])])
      if (shown !== undefined) masks.push({ from: range[0], to: range[1], shown })
    },
  })
  let masked = ''
  let end = 0
  for (const { from, to, shown } of masks.sort((a, b) => a.from - b.from)) {
    // A scalar in several lines ends with its line.
    masked += text.slice(end, from) + shown + (text.slice(from, to).endsWith('\n') ? '\n' : '')
    end = to
  }
  return (masked + text.slice(end)).replace(/(?<=^|\s)#.*$/gm, comment)
}

function dropComments(document: Document): void {
  const drop = (node: Document | Node) => {
    node.comment = null
    node.commentBefore = null
  }
  drop(document)
  visit(document, { Node: (_key, node) => drop(node) })
}

export interface ItemEdit {
  /** Appended to the list. */
  readonly add?: Readonly<Record<string, string | number>>
  /** The position of the item to remove. */
  readonly removeAt?: number
}

/**
 * Changes a list of mappings. The other items keep their comments. A single mapping counts as a list with one item. Throws as
 * `editLists`.
 */
export function editItems(text: string, path: YamlPath, { add, removeAt }: ItemEdit): string {
  const document = parse(text)
  const node = document.getIn(path)
  if (removeAt !== undefined) {
    if (isSeq(node)) node.items.splice(removeAt, 1)
    if (!isSeq(node) || node.items.length === 0) document.deleteIn(path)
  }
  if (add !== undefined) {
    const item = document.createNode(add)
    if (isSeq(node)) node.add(item)
    else {
      ensureParents(document, path)
      document.setIn(path, document.createNode(isMap(node) ? [node, item] : [item]))
    }
  }
  return print(document)
}

type Ancestors = Parameters<Extract<NonNullable<Parameters<typeof visit>[1]>, (...args: never[]) => unknown>>[2]

/** The keys of the pairs on the way. */
function pathOf(ancestors: Ancestors): string[] {
  return ancestors.flatMap((ancestor) =>
    'key' in ancestor && isScalar(ancestor.key) ? [String(ancestor.key.value)] : [],
  )
}

function toPlain(document: Document, node: unknown): unknown {
  return isNodeLike(node) ? node.toJS(document) : node
}

function isNodeLike(node: unknown): node is Node {
  return typeof node === 'object' && node !== null && 'toJS' in node
}

/** Throws if the text is not valid YAML. */
function parse(text: string): Document {
  const document = parseDocument(text, { schema: 'core', keepSourceTokens: true, uniqueKeys: false })
  const [error] = document.errors
  if (error !== undefined) throw error
  return document
}

function print(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** An empty value such as `plugins:` becomes a mapping. Throws where another value stands on the path. */
function ensureParents(document: Document, path: YamlPath): void {
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    const { comment, commentBefore } = document
    document.contents = document.createNode({})
    document.comment = comment
    document.commentBefore = commentBefore
  }
  for (let depth = 0; depth < path.length; depth++) {
    const parent = path.slice(0, depth)
    const node = depth === 0 ? document.contents : document.getIn(parent, true)
    const isEmpty = node === undefined || (isScalar(node) && node.value === null)
    if (isEmpty) document.setIn(parent, document.createNode({}))
    else if (!isMap(node)) throw new Error(`expected a mapping at ${parent.join('.') || 'the top of the file'}`)
  }
}
