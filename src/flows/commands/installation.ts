/**
 * How this gateway was installed, for `/update` and `/debug`.
 */
import { existsSync } from 'node:fs'
import { arch, release, type } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Installation } from '../../commands/gateway.ts'
import type { HomeLayout } from '../../lib/home.ts'

/** @param root the folder of the installation */
export function describeInstallation(
  { logs }: Pick<HomeLayout, 'logs'>,
  root = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, ''),
): Installation {
  const isContainer = existsSync('/.dockerenv') || existsSync('/run/.containerenv')
  return {
    kind: isContainer ? 'container' : kindOfFolder(root),
    root,
    node: process.versions.node,
    machine: `${type()} ${release()} ${arch()}`,
    logFile: join(logs, 'gateway.log'),
  }
}

function kindOfFolder(root: string): Installation['kind'] {
  if (existsSync(join(root, '.git'))) return 'checkout'
  return /[\\/]node_modules[\\/]/.test(root) ? 'package' : 'copy'
}
