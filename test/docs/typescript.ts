/**
 * Compiles the TypeScript blocks of pages with the settings of the project. Each block is a module. Blocks with a file name are
 * written beside the other files of their page.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { emitDeclarations } from '../../src/packages/sdk-declarations.ts'
import { tempHome } from '../kit/temp-home.ts'
import type { CodeBlock } from './pages.ts'
import { root } from './repository.ts'

/** The errors of the compiler, one line each. Compiles all blocks in one run. */
export async function compile(t: TestContext, blocks: readonly [where: string, block: CodeBlock][]): Promise<string[]> {
  const folder = tempHome(t)
  const names = new Map<string, string>()
  for (const [index, [where, { text, file }]] of blocks.entries()) {
    const pageFile = `${where.split(':', 1)[0]}/${file}`
    const name = file === undefined || names.has(pageFile) ? `block-${index + 1}/module.ts` : pageFile
    names.set(name, where)
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), `${resolveImports(where, text)}\n\nexport {}\n`)
  }
  // The compiler does not check declarations, which saves it the sources of the gateway.
  mkdirSync(join(folder, 'sdk'))
  const sdk = emitDeclarations(join(folder, 'sdk'), ['src/sdk.ts', 'test/kit/testing.ts'], { comments: false })
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      paths: { '#sdk': [join(sdk, 'src/sdk.d.ts')], '#sdk/testing': [join(sdk, 'test/kit/testing.d.ts')] },
    },
    include: [...names.keys()],
    exclude: [],
  }
  // Packages and their types are resolved as in the repository.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const output = await run([join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false'], folder)
  return output
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

/** The output of a Node program, with any exit code. */
function run(args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 10_000_000 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
}
