/**
 * Finds the packages that plugins in Python import and that the interpreter does not have. Hermes brings some, such as `httpx`; a plugin
 * would otherwise fail in the middle of a turn. No code of a plugin runs.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseJson } from '../../lib/json.ts'

export interface MissingPackagesOptions {
  /** `hooks.python`. */
  readonly python: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly folders: readonly string[]
}

const script = fileURLToPath(new URL('../../hosts/python/missing_packages.py', import.meta.url))
const providedModules = fileURLToPath(
  new URL('../../hosts/python/hermes_host/plugins/hermes_modules/', import.meta.url),
)
const timeoutMs = 10_000

/** The names of packages that differ from those of their modules. */
const packageNames: Readonly<Record<string, string>> = {
  PIL: 'pillow',
  bs4: 'beautifulsoup4',
  cv2: 'opencv-python',
  dateutil: 'python-dateutil',
  dotenv: 'python-dotenv',
  jwt: 'pyjwt',
  telegram: 'python-telegram-bot',
  yaml: 'pyyaml',
}

const resultSchema = z.record(z.string(), z.array(z.string()))

/**
 * A sentence for each folder with missing packages, with the command that installs them. Empty without Python, which is reported where a
 * plugin is loaded. Never rejects.
 */
export async function findMissingPackages({
  python,
  env,
  folders,
}: MissingPackagesOptions): Promise<ReadonlyMap<string, string>> {
  if (folders.length === 0) return new Map()
  const output = await new Promise<string>((resolve) => {
    const args = ['-B', '-X', 'utf8', script, providedModules, ...folders]
    execFile(python, args, { env, timeout: timeoutMs }, (error, stdout) => resolve(error === null ? stdout : ''))
  })
  const result = resultSchema.safeParse(parseJson(output))
  const missing = Object.entries(result.success ? result.data : {}).filter(([, modules]) => modules.length > 0)
  return new Map(missing.map(([folder, modules]) => [folder, sentenceFor(python, modules)]))
}

function sentenceFor(python: string, modules: readonly string[]): string {
  const packages = modules.map((name) => packageNames[name] ?? name).join(' ')
  return `It imports ${modules.join(', ')}, which ${python} does not have. Install: ${python} -m pip install ${packages}`
}
