/**
 * A checkout of another commit of this repository, ready to start.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The checkout of this file. */
export const ownCheckout = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * Runs `work` with the folder of a checkout: the one that is named, or a temporary one of the named commit, with its packages
 * installed. Rejects if there is neither.
 */
export async function withCheckout<T>(reference: string, work: (folder: string) => Promise<T>): Promise<T> {
  if (existsSync(join(reference, 'package.json'))) return await work(resolve(reference))
  const folder = mkdtempSync(join(tmpdir(), 'hermes-compare-'))
  try {
    execFileSync('git', ['clone', '--quiet', '--shared', '--no-checkout', ownCheckout, folder])
    execFileSync('git', ['-C', folder, 'checkout', '--quiet', '--detach', reference])
    installPackages(folder)
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The packages of this checkout are copied if they are the same, which needs no network. */
function installPackages(folder: string): void {
  const lock = (checkout: string) => readFileSync(join(checkout, 'package-lock.json'), 'utf8')
  if (lock(folder) !== lock(ownCheckout)) {
    execFileSync('npm', ['ci'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    return
  }
  cpSync(join(ownCheckout, 'node_modules'), join(folder, 'node_modules'), { recursive: true, verbatimSymlinks: true })
}

/** The command of `npm start`. The shell replaces itself by Node. */
export function startCommand(checkout: string): string {
  const text = readFileSync(join(checkout, 'package.json'), 'utf8')
  const { start } = z.object({ scripts: z.object({ start: z.string() }) }).parse(JSON.parse(text)).scripts
  return start.includes('exec ') ? start : `exec ${start}`
}
