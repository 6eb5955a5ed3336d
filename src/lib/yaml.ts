/**
 * The only door to `yaml`: text in, plain data and positions out.
 *
 * Files of users and of strangers (plugin.yaml) pass here, so nothing but JSON-like values comes out, bombs are refused
 * before they are unfolded, and every problem has its line and column. Messages never quote the text: it may hold secrets.
 */
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
} from 'yaml'
import { formatYamlMessage } from './yaml-messages.ts'
import {
  type Converted,
  controlCharacters,
  mergeInherited,
  offsetOf,
  type PathPart,
  type Position,
  quoteKey,
  type ReportIssue,
  type SourceOffsets,
  toPlainScalar,
} from './yaml-values.ts'

export type { PathPart, Position } from './yaml-values.ts'

interface YamlIssue extends Position {
  readonly file: string
  readonly message: string
}

export interface ParsedYaml {
  readonly file: string
  /** Strings, finite numbers, booleans, null, arrays and objects. null for an empty file and whenever there are problems. */
  readonly value: unknown
  /** Where a value (or its key) stands; the nearest enclosing place for a path that is not in the file. */
  positionOf(path: readonly PathPart[], at?: 'key' | 'value'): Position
  readonly issues: readonly YamlIssue[]
}

export interface YamlLimits {
  /** UTF-16 units of the text. */
  readonly maxChars?: number
  readonly maxDepth?: number
  /** How many values may come into being through aliases and merge keys. */
  readonly maxAliased?: number
}

/** Bounds the time that a broken file can take; enough for some 40,000 lines. */
const maxLexemes = 200_000
const maxIssues = 50

const plainTags = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
)

/**
 * Parses one YAML 1.2 document (core schema, with merge keys). Never throws.
 * Integers too large for a number come out as their digits, so that an id keeps its last ones.
 * @param file the name that problems carry
 */
export function parseYaml(text: string, file: string, limits: YamlLimits = {}): ParsedYaml {
  const { maxChars = 1_048_576, maxDepth = 64, maxAliased = 20_000 } = limits
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  const lines = new LineCounter()
  const found: { offset: number; message: string }[] = []
  const report: ReportIssue = (offset, message) => {
    found.push({ offset, message })
  }
  const locate = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }

  let root: Converted = { value: null, offsets: { key: 0, value: 0 } }
  const control = controlCharacters.exec(source)
  if (source.length > maxChars) report(0, `the file is larger than ${maxChars} characters`)
  else if (control !== null)
    report(countTo(lines, source, control.index), 'a control character: this is not a text file')
  else {
    const document = compose(source, lines, maxDepth, report)
    if (document !== undefined) root = convertDocument(document, maxDepth, maxAliased, report)
  }
  found.sort((one, other) => one.offset - other.offset)
  const issues = found.slice(0, maxIssues).map(({ offset, message }) => ({ file, ...locate(offset), message }))
  return {
    file,
    value: issues.length === 0 ? root.value : null,
    positionOf: (path, at = 'value') => locate(offsetOf(root.offsets, path, at)),
    issues,
  }
}

/** Tells the counter of the lines up to an offset, where the parser did not run. */
function countTo(lines: LineCounter, source: string, offset: number): number {
  lines.addNewLine(0)
  for (let at = source.indexOf('\n'); at !== -1 && at < offset; at = source.indexOf('\n', at + 1))
    lines.addNewLine(at + 1)
  return offset
}

/** Lexes by hand, so that a deep or endless document is refused while it is read and not when the stack overflows. */
function compose(
  source: string,
  lines: LineCounter,
  maxDepth: number,
  report: ReportIssue,
): Document.Parsed | undefined {
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer({
    schema: 'core',
    merge: false,
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  })
  const documents: Document.Parsed[] = []
  let lexemes = 0
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(source)) {
    for (const token of parser.next(lexeme)) documents.push(...composer.next(token))
    lexemes += 1
    // The stack also holds the document and the scalar at hand.
    if (parser.stack.length > maxDepth + 2)
      return reportAndStop(report, parser.offset, `nested deeper than ${maxDepth} levels`)
    if (lexemes > maxLexemes) return reportAndStop(report, parser.offset, 'the file has too many parts to be read')
    if (documents.length > 1) break
  }
  for (const token of parser.end()) documents.push(...composer.next(token))
  documents.push(...composer.end(true, source.length))
  const [document, second] = documents
  if (second !== undefined) report(second.range[0], 'a second document begins here; only one is read')
  let lastLine = -1
  for (const error of document?.errors ?? []) {
    const { line } = lines.linePos(error.pos[0])
    // After a mistake the reader stumbles over everything up to the next line that makes sense.
    const stumble = error.code === 'UNEXPECTED_TOKEN' && lastLine !== -1 && line <= lastLine + 1
    if (!stumble) report(error.pos[0], formatYamlMessage(error.code, error.message))
    lastLine = Math.max(line, lastLine)
  }
  return document
}

function reportAndStop(report: ReportIssue, offset: number, message: string): undefined {
  report(offset, message)
}

function convertDocument(
  document: Document.Parsed,
  maxDepth: number,
  maxAliased: number,
  report: ReportIssue,
): Converted {
  const targets = aliasTargets(document.contents)
  const open = new Set<Node>()
  /** How many aliases and merge keys are being unfolded right now, and how many values they made so far. */
  let unfolding = 0
  let unfolded = 0
  /** Where the outermost of them stands: its place is the one to show. */
  let unfoldingAt = 0

  const convert = (node: Node | null, key: number, depth: number): Converted => {
    const start = node?.range?.[0] ?? key
    const nothing = { value: null, offsets: { key, value: start } }
    if (node === null) return nothing
    if (unfolding > 0) unfolded += 1
    const refusal = refusalOf(node, depth)
    if (refusal !== undefined) {
      report(unfolding > 0 ? unfoldingAt : start, refusal)
      return nothing
    }
    if (unfolded > maxAliased) return nothing
    if (isAlias(node)) return unfold(targets.get(node) ?? null, key, depth)
    if (isScalar(node))
      return { value: toPlainScalar(node.value, node.source, start, report), offsets: nothing.offsets }
    open.add(node)
    const converted = isMap(node) ? convertMap(node.items, depth) : convertList(isSeq(node) ? node.items : [], depth)
    open.delete(node)
    return { value: converted.value, offsets: { key, value: start, children: converted.children } }
  }

  const refusalOf = (node: Node, depth: number): string | undefined => {
    if (unfolded === maxAliased + 1) return 'aliases unfold into too many values'
    if (isAlias(node)) {
      const target = targets.get(node)
      if (target === undefined) return 'an alias that names nothing before it; put a text that begins with * in quotes'
      return open.has(target) ? 'an alias that contains itself' : undefined
    }
    if (node.tag !== undefined && !plainTags.has(node.tag)) {
      return 'tags (!name) are not supported; put a text that begins with ! in quotes'
    }
    return depth >= maxDepth && !isScalar(node) ? `nested deeper than ${maxDepth} levels` : undefined
  }

  const unfold = (node: Node | null, key: number, depth: number): Converted => {
    if (unfolding === 0) unfoldingAt = key
    unfolding += 1
    const converted = convert(node, key, depth)
    unfolding -= 1
    return converted
  }

  const convertList = (nodes: readonly unknown[], depth: number) => {
    const children = new Map<string, SourceOffsets>()
    const value = nodes.map((item, index) => {
      const node = asNode(item)
      const converted = convert(node, node?.range?.[0] ?? 0, depth + 1)
      children.set(String(index), converted.offsets)
      return converted.value
    })
    return { value, children }
  }

  const convertMap = (pairs: readonly Pair[], depth: number) => {
    const entries = new Map<string, unknown>()
    const children = new Map<string, SourceOffsets>()
    const merged: Converted[] = []
    for (const pair of pairs) {
      const keyNode = asNode(pair.key)
      const at = keyNode?.range?.[0] ?? asNode(pair.value)?.range?.[0] ?? 0
      if (isMergeKey(keyNode)) {
        merged.push(...mergeSources(unfold(asNode(pair.value), at, depth), at, report))
        continue
      }
      const name = keyName(keyNode, at, report)
      if (name === undefined) continue
      if (children.has(name)) report(at, `the key ${quoteKey(name)} is there twice`)
      const converted = convert(asNode(pair.value), at, depth + 1)
      entries.set(name, converted.value)
      children.set(name, converted.offsets)
    }
    for (const source of merged) mergeInherited(source, entries, children)
    return { value: Object.fromEntries(entries), children }
  }

  return convert(document.contents, 0, 0)
}

/** Which node each alias means: the last one before it that bears the anchor. One walk for all, where the library takes one per alias. */
function aliasTargets(root: Node | null): ReadonlyMap<Node, Node> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Node, Node>()
  const visit = (node: Node | null): void => {
    if (isAlias(node)) {
      const target = anchors.get(node.source)
      if (target !== undefined) targets.set(node, target)
      return
    }
    if (node === null) return
    if (node.anchor !== undefined) anchors.set(node.anchor, node)
    if (isSeq(node)) for (const item of node.items) visit(asNode(item))
    if (!isMap(node)) return
    for (const pair of node.items) {
      visit(asNode(pair.key))
      visit(asNode(pair.value))
    }
  }
  visit(root)
  return targets
}

function asNode(value: unknown): Node | null {
  return isAlias(value) || isScalar(value) || isMap(value) || isSeq(value) ? value : null
}

function keyName(node: Node | null, at: number, report: ReportIssue): string | undefined {
  const name = isScalar(node) && node.value !== null ? (node.source ?? String(node.value)) : undefined
  if (name === undefined) report(at, 'a key must be a plain word or text')
  else if (name === '__proto__') report(at, 'the key "__proto__" is not allowed')
  else return name
  return undefined
}

function isMergeKey(node: Node | null): boolean {
  return isScalar(node) && node.type === 'PLAIN' && node.value === '<<'
}

function mergeSources(source: Converted, at: number, report: ReportIssue): Converted[] {
  const { value, offsets } = source
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      mergeSources({ value: item, offsets: offsets.children?.get(String(index)) ?? offsets }, at, report),
    )
  }
  if (typeof value === 'object' && value !== null) return [source]
  report(at, 'a merge key (<<) needs a mapping or a list of mappings')
  return []
}
