/**
 * The image of an instance: a file of this machine, fetched once if it has an address.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HermesError } from '#sdk'
import { type ClientProgram, type PullOptions, reasonOf, runClient } from '../shared/client-program.ts'

/** Apptainer builds one file from the layers of an image, which takes minutes. */
const pullTimeoutMs = 30 * 60_000

/** Where the image of an address is kept; the path itself for a file. */
export function imageFile(image: string, directory: string): string {
  return image.includes('://') ? join(directory, `${image.replace(/[^\w.-]+/g, '-')}.sif`) : image
}

/** Returns the path of the image. Rejects `environment/no-image`, with a system error, or with the reason of the signal. */
export async function fetchSingularityImage(
  program: ClientProgram,
  image: string,
  directory: string,
  { signal, announce, log }: PullOptions,
): Promise<string> {
  const file = imageFile(image, directory)
  if (existsSync(file)) return file
  if (file === image) throw new HermesError('environment/no-image', `There is no file ${image}.`)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  announce(`Fetching the image ${image}. This happens once and can take some minutes.`)
  log.info({ event: 'container.image_pull', image }, 'an image is fetched')
  const partial = `${file}.${randomBytes(4).toString('hex')}.part`
  try {
    const result = await runClient(program, ['pull', partial, image], { signal, timeoutMs: pullTimeoutMs })
    if (result.exitCode !== 0) throw new HermesError('environment/no-image', `${image}: ${reasonOf(result)}`)
    await rename(partial, file)
  } finally {
    await rm(partial, { force: true })
  }
  log.info({ event: 'container.image_pulled', image }, 'an image was fetched')
  return file
}
