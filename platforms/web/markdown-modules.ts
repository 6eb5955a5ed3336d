/**
 * The Markdown lexer of the gateway as modules for the browser, so that the page reads a reply as the other platforms do.
 * They need no build: their types are removed when the first of them is requested. That takes a process of its own, because
 * the module which removes them costs 18 MB.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const names = ['html-entities', 'markdown-emphasis', 'markdown-lexer', 'markdown-math']

const separator = '\0'
const script = `
  const { readFileSync } = require('node:fs')
  const { stripTypeScriptTypes } = require('node:module')
  const stripped = process.argv.slice(1).map((path) => stripTypeScriptTypes(readFileSync(path, 'utf8')))
  process.stdout.write(stripped.join('\\0'))
`

/** The text of each module, by the name under which the page imports it. Rejects when the process fails. */
export async function readMarkdownModules(): Promise<ReadonlyMap<string, string>> {
  const paths = names.map((name) => fileURLToPath(new URL(`../../src/lib/${name}.ts`, import.meta.url)))
  const args = ['--disable-warning=ExperimentalWarning', '--eval', script, '--', ...paths]
  const options = { timeout: 30_000, maxBuffer: 10_000_000 }
  const { stdout } = await promisify(execFile)(process.execPath, args, options).catch((cause: unknown) => {
    throw new Error(`${process.execPath} could not remove the types of ${paths.join(', ')}`, { cause })
  })
  const texts = stdout.split(separator)
  return new Map(names.map((name, index) => [`${name}.js`, withBrowserImports(texts[index] ?? '')]))
}

/** The page has no import map, because its security policy forbids inline scripts. */
function withBrowserImports(module: string): string {
  return module.replace(/\bfrom '(?:\.\/([a-z-]+)\.ts|(marked))'/g, (_, file, name) => `from './${file ?? name}.js'`)
}
