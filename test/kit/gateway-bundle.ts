/**
 * The gateway as a few files. Tests start it two hundred times, and half of the CPU time of a start is spent on reading
 * three hundred sources one by one.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const builder = fileURLToPath(new URL('./build-gateway-bundle.mjs', import.meta.url))
// It is not below `node_modules`, where the packages of the gateway are resolved in another way.
const directory = join(root, '.test-gateway')

/** The sources that a process imports by name, or the gateway by a computed name. */
const entries = {
  /** `crash/child.mjs`, with the platforms of its home only. */
  gateway: ['src/gateway.ts', 'src/lib/home.ts'],
  /** `src/main.mjs`, with the bundled platforms. */
  hermes: ['src/cli/main.ts', 'platforms/*/{adapter,diagnose}.ts'],
}
const lateEntries = ['src/sdk.ts', 'src/agent/tools/*.ts']

const built = new Map<string, string>()

/** The directory of a bundle of the present sources. Builds it if there is none. Throws if that fails. */
export function gatewayBundle(program: keyof typeof entries): string {
  const known = built.get(program)
  if (known !== undefined) return known
  const bundle = join(directory, `${program}-${fingerprint()}`)
  if (!existsSync(bundle)) build(bundle, [...entries[program], ...lateEntries])
  built.set(program, bundle)
  return bundle
}

/** Flags for Node that make `src/main.mjs` load a bundle instead of the sources. */
export function bundleFlags(): readonly string[] {
  const loader = new URL('./load-gateway-bundle.mjs', import.meta.url)
  loader.search = encodeURIComponent(gatewayBundle('hermes'))
  return ['--import', loader.href]
}

function build(bundle: string, globs: readonly string[]): void {
  for (const old of existsSync(directory) ? readdirSync(directory) : [])
    if (Date.now() - statSync(join(directory, old)).mtimeMs > maxAgeMs)
      rmSync(join(directory, old), { recursive: true, force: true })
  const { status, stderr } = spawnSync(process.execPath, [builder, bundle, ...globs], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the gateway could not be bundled: ${stderr}`)
}

/** Longer than a test run: a younger bundle may be in use. */
const maxAgeMs = 3_600_000

/** Changes with every edit of a source. */
function fingerprint(): string {
  const hash = createHash('sha256')
  const sources = ['src', 'platforms'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  for (const name of [...sources, 'package.json', 'test/kit/build-gateway-bundle.mjs'].sort()) {
    const { mtimeMs, size } = statSync(join(root, name))
    hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}
