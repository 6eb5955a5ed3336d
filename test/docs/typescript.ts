/**
 * Compiles pieces of TypeScript as a reader would, under the settings of the project: each a module of its own, those
 * that name their file beside the others of their page.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempHome } from '../kit/temp-home.ts'
import type { CodeBlock } from './pages.ts'
import { root } from './repository.ts'

/** What the compiler says, one line each; empty when all is well. One run for all blocks. */
export async function compile(t: TestContext, blocks: readonly [where: string, block: CodeBlock][]): Promise<string[]> {
  const folder = tempHome(t)
  const names = new Map<string, string>()
  for (const [index, [where, { text, file }]] of blocks.entries()) {
    const beside = `${where.split(':', 1)[0]}/${file}`
    const name = file === undefined || names.has(beside) ? `block-${index + 1}/module.ts` : beside
    names.set(name, where)
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), `${resolveImports(where, text)}\n\nexport {}\n`)
  }
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      paths: { '#sdk': [join(root, 'src/sdk.ts')], '#sdk/testing': [join(root, 'test/kit/testing.ts')] },
    },
    include: [...names.keys()],
    exclude: [],
  }
  // Packages and their types are found as they are from the repository.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const said = await run([join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false'], folder)
  return said
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.replace(/^[^(]+/, (name) => names.get(name) ?? name))
}

/** The README of a module imports the files next to it. Pages under `docs/` contain all files of their examples. */
function resolveImports(where: string, text: string): string {
  if (!where.startsWith('src/')) return text
  const directory = join(root, dirname(where.split(':', 1)[0] ?? ''))
  return text.replace(/(?<=from ')\.(?=\/)/g, directory)
}

/** What a program of Node prints, whatever it ends with. */
function run(args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 10_000_000 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
}
