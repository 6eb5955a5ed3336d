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
  'media-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Allows only files for the browser: no hidden files, parent directories or compiler settings. */
const assetPath = /^(?:[a-z-]+\/)?[a-z-]+\.(css|js|svg)$/

export interface Assets {
  page(request: Request): Promise<Response>
  asset(request: Request): Promise<Response>
}

interface LoadedFile {
  readonly body: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly etag: string
}

export function createAssets(): Assets {
  const files = new Map<string, LoadedFile>()
  let markdownModules: Promise<ReadonlyMap<string, string>> | undefined

  return {
    page: (request) => serve(request, 'index.html'),
    async asset(request) {
      const path = new URL(request.url).pathname
      const name = path.slice('/assets/'.length)
      return assetPath.test(name) ? serve(request, name) : notFoundResponse(path)
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
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    }
    if (request.headers.get('if-none-match') === file.etag) return new Response(null, { status: 304, headers })
    if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return new Response(file.body, { headers })
    return new Response(file.gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
  }

  async function load(name: string): Promise<LoadedFile | undefined> {
    try {
      const body = new Uint8Array(
        isMarkdownModule(name) ? await readMarkdownModule(name) : await readAsset(name),
      )
      const gzipped = new Uint8Array(await promisify(gzip)(body, { level: 9 }))
      const file = { body, gzipped, etag: `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
      files.set(name, file)
      return file
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
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
async function readAsset(name: string): Promise<Uint8Array> {
  const content = await readFile(pathOf(name))
  return name === 'uplot.js' ? Buffer.concat([content, Buffer.from('\nexport default uPlot\n')]) : content
}

/**
 * The location of a served file. Browsers can run the modules of `marked` and `uqr` unchanged. They are found from their
 * manifests, because the gateway may run a bundled copy of the module that only Node understands.
 */
function pathOf(name: string): string {
  if (name === 'marked.js') return fileURLToPath(import.meta.resolve('marked'))
  if (name === 'uqr.js') return fileURLToPath(import.meta.resolve('uqr'))
  // The published package has the small form under the name of the module.
  if (name === 'uplot.js')
    return fileURLToPath(import.meta.resolve('uplot').replace(/uPlot\.cjs\.js$/, 'uPlot.iife.min.js'))
  if (name === 'styles/uplot.css') return fileURLToPath(new URL('uPlot.min.css', import.meta.resolve('uplot')))
  return fileURLToPath(new URL(`page/${name}`, import.meta.url))
}
