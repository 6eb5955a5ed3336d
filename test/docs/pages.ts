/**
 * Parses the Markdown pages: links, headings, inline code and code blocks.
 */
import { parseMarkdown } from '../../src/lib/markdown.ts'
import { filesOf, textOf } from './repository.ts'

type MarkdownToken = Awaited<ReturnType<typeof parseMarkdown>>[number]

export interface CodeBlock {
  /** `ts`, `yaml`, `sh` …; '' for none. */
  readonly language: string
  readonly text: string
  /** The file name in the comment of the first line: `// platforms/pager/adapter.ts`, `# config.yaml`. */
  readonly file: string | undefined
}

export interface Page {
  /** Relative to the root: `docs/how-to/connect-a-model.md`. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly CodeBlock[]
  /** Inline code. */
  readonly spans: readonly string[]
  /** The targets of links. */
  readonly links: readonly string[]
  /** The anchors of the headings. */
  readonly anchors: ReadonlySet<string>
}

/** Every Markdown page of the repository. */
export async function readPages(): Promise<readonly Page[]> {
  const paths = filesOf().filter((path) => path.endsWith('.md'))
  return await Promise.all(paths.map((path) => readPage(path, textOf(path))))
}

export async function readPage(path: string, text: string): Promise<Page> {
  const tokens = flat(await parseMarkdown(text))
  const code = tokens.filter((token) => token.type === 'code')
  return {
    path,
    text,
    blocks: code.map(({ lang = '', text: body }) => ({ language: lang, text: body, file: fileNamedIn(body) })),
    spans: tokens.filter((token) => token.type === 'codespan').map((token) => token.text),
    links: tokens.filter((token) => token.type === 'link' || token.type === 'image').map((token) => token.href),
    anchors: anchorsOf(tokens.filter((token) => token.type === 'heading').map((token) => token.text)),
  }
}

function fileNamedIn(code: string): string | undefined {
  return /^(?:\/\/|#) ([\w./~$-]+\.\w+)$/m.exec(code.split('\n', 1)[0] ?? '')?.[1]
}

/** The tokens and all nested tokens. */
function flat(tokens: readonly unknown[]): MarkdownToken[] {
  return tokens.flatMap((token) => {
    if (!isToken(token)) return []
    const cells = token.type === 'table' ? [...token.header, ...token.rows.flat()].flatMap((cell) => cell.tokens) : []
    const items = token.type === 'list' ? token.items : []
    const inner = 'tokens' in token ? (token.tokens ?? []) : []
    return [token, ...flat(inner), ...flat(cells), ...flat(items)]
  })
}

function isToken(value: unknown): value is MarkdownToken {
  return typeof value === 'object' && value !== null && 'type' in value
}

/** Anchors as GitHub generates them: lower case, words joined by `-`, a number for repeated headings. */
function anchorsOf(headings: readonly string[]): Set<string> {
  const found = new Set<string>()
  for (const heading of headings) {
    const plain = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    let name = plain
    for (let copy = 1; found.has(name); copy++) name = `${plain}-${copy}`
    found.add(name)
  }
  return found
}
