/**
 * The gateway as a few files. Crash tests start it a hundred times, and a third of the CPU time of a start is spent on
 * reading two hundred sources one by one.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const builder = fileURLToPath(new URL('./build-bundle.mjs', import.meta.url))
// Not below `node_modules`, where the packages of the gateway are resolved in another way.
const directory = join(root, 'dist', 'crash-test-gateway')

let current: string | undefined

/** The directory of a bundle of the present sources. Builds it if there is none. Throws if that fails. */
export function gatewayBundle(): string {
  current ??= build()
  return current
}

function build(): string {
  const name = fingerprint()
  const bundle = join(directory, name)
  if (existsSync(bundle)) return bundle
  for (const old of existsSync(directory) ? readdirSync(directory) : [])
    if (Date.now() - statSync(join(directory, old)).mtimeMs > maxAgeMs)
      rmSync(join(directory, old), { recursive: true, force: true })
  const { status, stderr } = spawnSync(process.execPath, [builder, bundle], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the gateway could not be bundled: ${stderr}`)
  return bundle
}

/** Longer than a test run: a younger bundle may be in use. */
const maxAgeMs = 3_600_000

/** Changes with every edit of a source. */
function fingerprint(): string {
  const hash = createHash('sha256')
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map((name) => join('src', name))
  for (const name of [...sources, 'package.json', 'test/crash/build-bundle.mjs'].sort()) {
    const { mtimeMs, size } = statSync(join(root, name))
    hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}
