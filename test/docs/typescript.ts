/**
 * Compiles pieces of TypeScript as a reader would: each a module of its own, under the settings of the project.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempHome } from '../kit/temp-home.ts'
import type { CodeBlock } from './pages.ts'
import { root } from './repository.ts'

/** What the compiler says, one line each; empty when all is well. One run for all blocks. */
export async function compile(t: TestContext, blocks: readonly [where: string, block: CodeBlock][]): Promise<string[]> {
  const folder = tempHome(t)
  const names = new Map<string, string>()
  for (const [index, [where, { text }]] of blocks.entries()) {
    const name = `block-${index + 1}`
    names.set(`${name}/module.ts`, where)
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'module.ts'), `${text}\n\nexport {}\n`)
  }
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { paths: { '#sdk': [join(root, 'src/sdk.ts')] } },
    include: ['*/module.ts'],
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
    .map((line) => line.replace(/block-\d+\/module\.ts/, (name) => names.get(name) ?? name))
}

/** What a program of Node prints, whatever it ends with. */
function run(args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 10_000_000 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
}
