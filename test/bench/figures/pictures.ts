/**
 * The memory of a request with a picture of 5 MB, beside the same request through the SDK of the vendor.
 */
import { z } from 'zod'
import { storePicture } from '../../../src/media/pictures.ts'
import type { ImagePart } from '../../../src/message/transcript.ts'
import { createPng } from '../../kit/pictures.ts'
import type { Figure, Row } from '../figure.ts'
import { startChild } from '../kit/children.ts'
import { withHome } from '../kit/home.ts'
import { withModel } from '../kit/model.ts'
import { median } from '../kit/stats.ts'

const measuredSchema = z.object({ mb: z.number() })
const rounds = 7

export const pictures: Figure = {
  name: 'pictures',
  about: 'memory of a request with a picture of 5 MB',
  async measure() {
    if (process.platform !== 'linux')
      return [{ name: 'peak for a picture of 5 MB', unit: 'MB', note: 'measured on Linux only' }]
    return await withModel({ record: false }, ({ baseUrl }) =>
      withHome('', async (folder) => {
        const image = await storePicture(folder, createPng({ fill: 4_900_000 }))
        return [await measured(baseUrl, folder, image)]
      }),
    )
  },
}

async function measured(baseUrl: string, folder: string, image: ImagePart): Promise<Row> {
  const child = await startChild('./picture-child.ts', { flags: ['--expose-gc'], args: [baseUrl, folder] })
  const peak = async (how: 'provider' | 'whole', images: readonly ImagePart[]) =>
    (await child.request('measure', { how, images }, measuredSchema)).mb
  try {
    // Loads the code of both.
    for (const how of ['provider', 'whole'] as const) await peak(how, [image])
    const text: number[] = []
    const picture: number[] = []
    const whole: number[] = []
    for (let round = 0; round < rounds; round++) {
      text.push(await peak('provider', []))
      picture.push(await peak('provider', [image]))
      whole.push(await peak('whole', [image]))
    }
    return {
      name: 'peak for a picture of 5 MB',
      measured: median(picture),
      unit: 'MB',
      bar: 5,
      baseline: { what: 'the SDK', value: median(whole) },
      note: `above the memory before; a request without a picture ${median(text).toFixed(1)} MB`,
    }
  } finally {
    await child.kill()
  }
}
