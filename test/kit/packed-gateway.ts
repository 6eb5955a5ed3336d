/**
 * The gateway as `npm pack` publishes it. A copy of the checkout is packed, because packing replaces `package.json` for a moment.
 */
import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const sources = ['hooks', 'platforms', 'plugins', 'skills', 'src', 'test/kit']
const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'README.md', 'CHANGELOG.md', 'LICENSE']

export interface PackedGateway {
  /** The archive of `npm pack`. */
  readonly archive: string
  /** A project into which it is installed. */
  readonly project: string
  /** The folder of the installed package. */
  readonly folder: string
  /** The file that `hermes` runs. */
  readonly main: string
}

/** @param folder an empty one. The installation needs no registry: it leaves out the optional packages. */
export async function packGateway(folder: string): Promise<PackedGateway> {
  const checkout = join(folder, 'checkout')
  const project = join(folder, 'project')
  for (const path of [checkout, project]) mkdirSync(path)
  for (const path of [...sources, ...files]) cpSync(join(root, path), join(checkout, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  await npm(folder, checkout, ['pack', '--pack-destination', folder])
  const [archive = ''] = globSync('*.tgz', { cwd: folder })
  await npm(folder, project, ['install', '--offline', '--omit=optional', '--prefix', project, join(folder, archive)])
  const installed = join(project, 'node_modules', 'hermes-gateway')
  const main = join(installed, 'dist/src/main.mjs')
  return { archive: join(folder, archive), project, folder: installed, main }
}

/** Resolves with what npm of this machine printed. It has a home of its own, and runs in the Node of the project. */
export async function npm(home: string, cwd: string, args: readonly string[]): Promise<string> {
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const env = { PATH: path, HOME: home, npm_config_cache: join(home, 'npm'), npm_config_update_notifier: 'false' }
  const { stdout } = await run('npm', [...args, '--no-audit', '--no-fund'], { cwd, env, maxBuffer: 16_777_216 })
  return stdout
}
