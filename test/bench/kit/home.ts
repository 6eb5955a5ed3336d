/**
 * A home for a measured gateway.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a directory with this config.yaml, runs `work` in it and removes it. */
export async function withHome<T>(config: string, work: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-bench-'))
  try {
    await writeFile(join(home, 'config.yaml'), config, { mode: 0o600 })
    return await work(home)
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
}
