/**
 * Parses YAML into plain data with source positions.
 *
 * Files of users and third parties (plugin.yaml) are read here. Only JSON-like values are returned, the size, depth and
 * aliases of a document are bounded, and every issue has a line and a column. Messages never quote the text, because it
 * may contain a secret.
 */
import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type ParseOptions,
  Parser,
  type Tags,
  visit,
} from 'yaml'
import { exceedsDepth } from './json.ts'

/** Both count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export type PathPart = string | number

export interface YamlIssue extends Position {
  readonly file: string
  /** The library's error code, or `UNCLOSED`, `limit`, `control_character`, `alias`, `merge_key` or `prototype_key`. */
  readonly code: string
  readonly message: string
}

export interface ParsedYaml {
  readonly file: string
  /** Strings, finite numbers, booleans, null, arrays and objects. `null` for an empty file and for a file with issues. */
  readonly value: unknown
  /** Position of a value or of its key. A path that is not in the file has the position of its nearest parent. */
  positionOf(path: readonly PathPart[], at?: 'key' | 'value'): Position
  readonly issues: readonly YamlIssue[]
}

/** UTF-16 units. */
const maxChars = 1_048_576
const maxDepth = 64
/** Bounds the time that a file can take. Enough for some 3,000 lines. */
const maxLexemes = 20_000
/** The library assembles a string in double quotes one character at a time, which makes a long one expensive. */
const maxDoubleQuotedChars = 65_536
/** The library resolves an alias by a walk through the document. */
const maxAliases = 200
/** How often one anchor may be expanded, directly and through other aliases. */
const maxAliasCount = 100
const maxIssues = 50

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

/** The library's messages are used only for codes that are missing here, and never the part that quotes the file. */
const messages: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag',
  BAD_ALIAS: 'invalid name of an alias or anchor; quote a string that begins with * or &',
  BAD_COLLECTION_TYPE: 'a tag (!name) does not match its value',
  BAD_DIRECTIVE: 'unknown directive (%); quote a string that begins with %',
  BAD_DQ_ESCAPE: 'unknown escape sequence in double quotes; use single quotes or double the backslash',
  BAD_INDENT: 'the indentation does not match the lines above',
  BAD_PROP_ORDER: 'an anchor or a tag is in the wrong position',
  BAD_SCALAR_START: 'a string that begins with a reserved character (@ ` % , | >) must be in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'two keys in one line ("a: b: c"); quote a string that contains ": "',
  BLOCK_IN_FLOW: 'an indented block is not allowed inside { } or [ ]',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MULTILINE_IMPLICIT_KEY: 'a key spans several lines; a ":" may be missing',
  MULTIPLE_ANCHORS: 'two anchors (&name) for one value',
  MULTIPLE_TAGS: 'two tags (!name) for one value',
  NON_STRING_KEY: 'a key must be a string',
  RESOURCE_EXHAUSTION: `nested deeper than ${maxDepth} levels`,
  TAB_AS_INDENT: 'a tab cannot be used for indentation; use spaces',
  TAG_RESOLVE_FAILED:
    'unsupported value: tags (!name), .inf and .nan cannot be used; quote a string that begins with !',
  UNEXPECTED_TOKEN:
    'unexpected token: a stray bracket, comma or quote, or a string inside { } or [ ] that needs quotes',
}

type Report = (offset: number, code: string, message?: string) => undefined

/**
 * Parses one YAML 1.2 document (core schema with merge keys). Never throws.
 * An integer that a number cannot represent exactly becomes a string of its digits, so that long ids stay exact.
 * @param file the name used in issues
 */
export function parseYaml(text: string, file: string): ParsedYaml {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  const lines = new LineCounter()
  const problems: { readonly offset: number; readonly code: string; readonly message: string }[] = []
  const report: Report = (offset, code, message = messages[code] ?? 'not valid YAML') => {
    problems.push({ offset, code, message })
  }
  const locate = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  lines.addNewLine(0)
  const document = compose(source, lines, report)
  if (document !== undefined) reportDuplicateKeys(document, source, report)
  const aliases: AliasTargets = document === undefined ? new Map() : resolveAliases(document, report)
  const value = document === undefined || problems.length > 0 ? null : toPlainValue(document, aliases, report)
  const issues = problems
    .sort((a, b) => a.offset - b.offset)
    .slice(0, maxIssues)
    .map(({ offset, code, message }) => ({ file, ...locate(offset), code, message }))
  return {
    file,
    value: issues.length === 0 ? value : null,
    positionOf: (path, at = 'value') => locate(offsetOf(document?.contents, aliases, path, at)),
    issues,
  }
}

/** Runs lexer, parser and composer step by step: a document that exceeds a limit is rejected before the stack overflows. */
function compose(source: string, lines: LineCounter, report: Report): Document.Parsed | undefined {
  if (source.length > maxChars) return report(0, 'limit', `the file is larger than ${maxChars} characters`)
  const control = controlCharacters.exec(source)?.index
  if (control !== undefined) {
    for (let at = source.indexOf('\n'); at !== -1 && at < control; at = source.indexOf('\n', at + 1))
      lines.addNewLine(at + 1)
    return report(control, 'control_character', 'a control character: this is not a text file')
  }
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer({
    schema: 'core',
    customTags: plainTags,
    merge: true,
    stringKeys: true,
    // The library compares each key with all others of its mapping.
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  })
  const documents: Document.Parsed[] = []
  let lexemes = 0
  for (const lexeme of new Lexer().lex(source)) {
    for (const token of parser.next(lexeme)) documents.push(...composer.next(token))
    lexemes += 1
    // The stack also contains the document and the current scalar.
    if (parser.stack.length > maxDepth + 2)
      return report(parser.offset, 'limit', `nested deeper than ${maxDepth} levels`)
    if (lexeme.length > maxDoubleQuotedChars && lexeme.startsWith('"')) {
      const start = parser.offset - lexeme.length
      return report(start, 'limit', `more than ${maxDoubleQuotedChars} characters in double quotes; use | or '`)
    }
    if (lexemes > maxLexemes) return report(parser.offset, 'limit', 'the file has too many parts to be read')
    if (documents.length > 1) break
  }
  for (const token of parser.end()) documents.push(...composer.next(token))
  documents.push(...composer.end(true, source.length))
  const [document, second] = documents
  if (second !== undefined) report(second.range[0], 'MULTIPLE_DOCS', 'only the first document of a file is read')
  reportErrors(document, lines, report)
  return document
}

function reportErrors(document: Document.Parsed | undefined, lines: LineCounter, report: Report): void {
  let lastLine = -1
  const unclosed = document === undefined ? [] : findUnclosed(document)
  for (const { start, message } of unclosed) report(start, 'UNCLOSED', message)
  for (const { code, message, pos } of [...(document?.errors ?? []), ...(document?.warnings ?? [])]) {
    const { line } = lines.linePos(pos[0])
    // After an error the parser also rejects the tokens up to the next line that it understands.
    const followsError =
      (code === 'UNEXPECTED_TOKEN' && lastLine !== -1 && line <= lastLine + 1) ||
      unclosed.some(({ start, end }) => pos[0] >= start && pos[0] <= end) ||
      unclosedError.test(message)
    if (!followsError) report(pos[0], code, messages[code] ?? message.replace(/:\s.*$/s, '').toLowerCase())
    lastLine = Math.max(line, lastLine)
  }
}

interface Unclosed {
  /** Offset of the opening bracket or quote. */
  readonly start: number
  /** Offset where the library expects the closing one. */
  readonly end: number
  readonly message: string
}

/** The library's messages about a collection or a quoted string without an end. */
const unclosedError = /^(?:Flow (map|sequence) |Missing closing .*(quote))/

const unclosedMessages = {
  map: 'this { has no closing }, or a line before its } is not indented',
  sequence: 'this [ has no closing ], or a line before its ] is not indented',
  quote: 'this quote has no closing quote',
} as const

/**
 * Brackets and quotes without an end. The library reports them where it gives up, which may be many lines after the
 * opening one. It returns only the innermost of nested ones, because the others may be a consequence of it.
 */
function findUnclosed(document: Document.Parsed): Unclosed[] {
  const missingEnds = document.errors.flatMap(({ message, pos }) => {
    const [, collection, quote] = unclosedError.exec(message) ?? []
    return collection === undefined && quote === undefined ? [] : [{ kind: collection ?? quote, at: pos[0] }]
  })
  const unclosed: Unclosed[] = []
  visit(document, {
    Node(_key, node) {
      const [start, end] = node.range ?? []
      const kind = bracketKind(node)
      if (start === undefined || end === undefined || kind === undefined) return
      // At the end of a file, a closed node may end where the node around it lacks its end. The outer one is visited first.
      const index = missingEnds.findIndex((missing) => missing.kind === kind && missing.at === end)
      if (index === -1) return
      missingEnds.splice(index, 1)
      unclosed.push({ start, end, message: unclosedMessages[kind] })
    },
  })
  return unclosed.filter(({ start, end }) => !unclosed.some((inner) => inner.start > start && inner.end <= end))
}

function bracketKind(node: Node): keyof typeof unclosedMessages | undefined {
  if (isMap(node)) return node.flow === true ? 'map' : undefined
  if (isSeq(node)) return node.flow === true ? 'sequence' : undefined
  const isQuoted = isScalar(node) && (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE')
  return isQuoted ? 'quote' : undefined
}

function reportDuplicateKeys(document: Document.Parsed, source: string, report: Report): void {
  visit(document, {
    Map(_key, { items }) {
      const known = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const at = key.range?.[0] ?? 0
        if (known.has(key.value)) report(at, 'DUPLICATE_KEY', duplicateKey(source, at))
        known.add(key.value)
      }
    },
  })
}

function duplicateKey(source: string, offset: number): string {
  const key = /[^\s:"']{1,60}/.exec(source.slice(offset, offset + 62))?.[0] ?? ''
  return `the key "${key}" appears twice in this mapping`
}

/** Integers stay exact, and numbers that JSON cannot represent are errors. */
function plainTags(tags: Tags): Tags {
  return tags.map((tag) => {
    if (typeof tag === 'string' || tag.collection !== undefined || !/:(?:int|float)$/.test(tag.tag)) return tag
    return {
      ...tag,
      resolve(source: string, onError: (message: string) => void, options: ParseOptions) {
        const value = tag.resolve?.(source, onError, options)
        if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
        if (!Number.isFinite(value)) onError('')
        return /^[-+]?\d+$/.test(source) ? source : value
      },
    }
  })
}

type AliasTargets = ReadonlyMap<Alias, Node>

/** The last node with the anchor before each alias, which must not contain the alias. */
function resolveAliases(document: Document.Parsed, report: Report): AliasTargets {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  visit(document, {
    Pair(_key, { key, value }) {
      if (!isScalar(key)) return
      const at = key.range?.[0] ?? 0
      if (key.value === '__proto__') report(at, 'prototype_key', 'the key "__proto__" is not allowed')
      if (key.value === '<<' && key.type === 'PLAIN' && !isMergeSource(value, anchors))
        report(at, 'merge_key', 'a merge key (<<) needs a mapping or a list of mappings')
    },
    Value(_key, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
    Alias(_key, node, path) {
      const target = anchors.get(node.source)
      const at = node.range?.[0] ?? 0
      if (target === undefined)
        report(at, 'alias', 'an alias refers to no anchor before it; quote a string that begins with *')
      else if (path.includes(target)) report(at, 'alias', 'an alias inside its own value')
      else targets.set(node, target)
      if (targets.size <= maxAliases) return undefined
      report(at, 'alias', `more than ${maxAliases} aliases`)
      return visit.BREAK
    },
  })
  return targets
}

function isMergeSource(value: unknown, anchors: ReadonlyMap<string, Node>): boolean {
  const source = isAlias(value) ? anchors.get(value.source) : value
  if (!isSeq(source)) return isMap(source)
  return source.items.every((item) => isMap(isAlias(item) ? anchors.get(item.source) : item))
}

function toPlainValue(document: Document.Parsed, aliases: AliasTargets, report: Report): unknown {
  const [firstAlias] = aliases.keys()
  const at = firstAlias?.range?.[0] ?? 0
  try {
    const value: unknown = document.toJS({ maxAliasCount })
    return exceedsDepth(value, maxDepth) ? report(at, 'limit', `nested deeper than ${maxDepth} levels`) : value
  } catch {
    // Everything else that can fail was checked before.
    return report(at, 'limit', `aliases expand to too many values: at most ${maxAliasCount} uses of an anchor`)
  }
}

/** Offset of a path, or of the nearest parent that exists. */
function offsetOf(root: unknown, aliases: AliasTargets, path: readonly PathPart[], at: 'key' | 'value'): number {
  const target = (node: unknown) => (isAlias(node) ? aliases.get(node) : node)
  let node = target(root)
  let keyOffset = 0
  for (const part of path) {
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === String(part)) : undefined
    const key = isSeq(node) ? node.items[Number(part)] : pair?.key
    if (!isNode(key)) return keyOffset
    keyOffset = key.range?.[0] ?? keyOffset
    node = target(pair === undefined ? key : pair.value)
  }
  return at === 'value' && isNode(node) ? (node.range?.[0] ?? keyOffset) : keyOffset
}
