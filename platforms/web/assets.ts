/**
 * Serves the files of the page. Each file is read and compressed at its first request and then kept in memory.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { systemCode } from '#sdk'
import { notFoundResponse } from './responses.ts'

/**
 * The page may load only its own files: no inline code, no other origin, no HTML from strings. What it has fetched with the token
 * it shows as a blob.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "frame-src 'self'",
  'media-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/**
 * The frame of a diagram has no origin, and runs the script of its document and nothing else. It can connect to nothing. Mermaid
 * writes styles into what it draws.
 */
const framePolicy = (script: string) =>
  [
    "default-src 'none'",
    `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    'sandbox allow-scripts',
  ].join('; ')

/** The files of packages, beside the module that the package names. */
const packageFiles: Readonly<Record<string, () => string>> = {
  'marked.js': () => import.meta.resolve('marked'),
  'uqr.js': () => import.meta.resolve('uqr'),
  'katex.js': () => beside(import.meta.resolve('katex'), 'katex.min.js'),
  'styles/katex.css': () => beside(import.meta.resolve('katex'), 'katex.min.css'),
  // The published package has the small form under the name of the module.
  'uplot.js': () => import.meta.resolve('uplot').replace(/uPlot\.cjs\.js$/, 'uPlot.iife.min.js'),
  'styles/uplot.css': () => beside(import.meta.resolve('uplot'), 'uPlot.min.css'),
  'mermaid.js': () => beside(import.meta.resolve('@mermaid-js/tiny'), 'mermaid.tiny.js'),
}
const fontPath = /^styles\/(fonts\/KaTeX_[A-Za-z0-9_-]+\.woff2)$/

function beside(url: string, name: string): string {
  return new URL(name, url).href
}

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
}

/** Allows only files for the browser: no hidden files, parent directories or compiler settings. */
const assetPath = /^(?:[a-z-]+\/)?[a-z-]+\.(css|js|svg)$/

const framePage = 'diagram.html'

export interface Assets {
  page(request: Request): Promise<Response>
  asset(request: Request): Promise<Response>
}

interface LoadedFile {
  readonly body: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly etag: string
  readonly policy: string
}

export function createAssets(): Assets {
  const files = new Map<string, LoadedFile>()
  let markdownModules: Promise<ReadonlyMap<string, string>> | undefined

  return {
    page: (request) => serve(request, 'index.html'),
    async asset(request) {
      const path = new URL(request.url).pathname
      const name = path.slice('/assets/'.length)
      return assetPath.test(name) || fontPath.test(name) || name === framePage
        ? serve(request, name)
        : notFoundResponse(path)
    },
  }

  async function serve(request: Request, name: string): Promise<Response> {
    const file = files.get(name) ?? (await load(name))
    if (file === undefined) return notFoundResponse(new URL(request.url).pathname)
    const headers = {
      'content-type': contentTypes[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
      'cache-control': 'no-cache',
      vary: 'accept-encoding',
      etag: file.etag,
      'content-security-policy': file.policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      ...(name === framePage ? { 'x-frame-options': 'SAMEORIGIN' } : {}),
    }
    if (request.headers.get('if-none-match') === file.etag) return new Response(null, { status: 304, headers })
    if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return new Response(file.body, { headers })
    return new Response(file.gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
  }

  async function load(name: string): Promise<LoadedFile | undefined> {
    try {
      const { text, policy } = name === framePage ? await readFrame() : await readAsset(name)
      const body = new Uint8Array(text)
      const gzipped = new Uint8Array(await promisify(gzip)(body, { level: 9 }))
      const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
      const file = { body, gzipped, etag, policy }
      files.set(name, file)
      return file
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  async function readAsset(name: string): Promise<{ text: Uint8Array; policy: string }> {
    const text = isMarkdownModule(name) ? await readMarkdownModule(name) : await readSource(name)
    return { text, policy: contentSecurityPolicy }
  }

  /** The scripts are a part of the document, because a frame without an origin can load no file of the gateway. */
  async function readFrame(): Promise<{ text: Uint8Array; policy: string }> {
    const [mermaid, frame] = await Promise.all(
      ['mermaid.js', 'diagram-frame.js'].map((name) => readFile(pathOf(name), 'utf8')),
    )
    const script = `${mermaid}\n${frame}`
    const style = 'body { display: flow-root; margin: 0 } svg { display: block; margin: auto }'
    const head = `<meta charset="utf-8"><title>Diagram</title><style>${style}</style>`
    const html = `<!doctype html><html lang="en">${head}<body><script>${script}</script></body></html>`
    return { text: new TextEncoder().encode(html), policy: framePolicy(script) }
  }

  async function readMarkdownModule(name: string): Promise<Uint8Array<ArrayBuffer>> {
    markdownModules ??= import('./markdown-modules.ts').then(({ readMarkdownModules }) => readMarkdownModules())
    try {
      return new TextEncoder().encode((await markdownModules).get(name))
    } catch (error) {
      // The next request tries again.
      markdownModules = undefined
      throw error
    }
  }
}

/** A module of src/lib that the page imports, too. */
function isMarkdownModule(name: string): boolean {
  return /^(?:html-entities|markdown-(?:emphasis|lexer|math))\.js$/.test(name)
}

/** uPlot ships its small form as a script only. */
async function readSource(name: string): Promise<Uint8Array> {
  const content = await readFile(pathOf(name))
  return name === 'uplot.js' ? Buffer.concat([content, Buffer.from('\nexport default uPlot\n')]) : content
}

/**
 * The location of a served file. Browsers can run the files of packages unchanged. They are found from the manifests of the
 * packages, because the gateway may run a bundled copy of a module that only Node understands.
 */
function pathOf(name: string): string {
  const font = fontPath.exec(name)?.[1]
  if (font !== undefined) return fileURLToPath(beside(import.meta.resolve('katex'), font))
  return fileURLToPath(packageFiles[name]?.() ?? new URL(`page/${name}`, import.meta.url))
}
