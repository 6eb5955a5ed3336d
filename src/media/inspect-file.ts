/**
 * What a received file is by its content, and whether models can look at it.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { Attachment } from '../message/event.ts'
import type { ImagePart } from '../message/transcript.ts'
import { attachmentKindOf, detectFileType, inspectedBytes } from './detect-file-type.ts'
import { PictureRefused, picturePath, storePictureFile } from './pictures.ts'

/** What the sender says about a file. */
export interface DeclaredFile {
  readonly fileName?: string
  readonly mimeType?: string
}

export interface InspectedFile {
  readonly kind: Attachment['kind']
  readonly mimeType: string
  /** Without the dot. */
  readonly extension: string
  /** Present for a picture that models can look at. */
  readonly picture?: { readonly image: ImagePart; readonly path: string }
  /** Why models cannot look at a picture, for people. It is a file like any other then. */
  readonly problem?: string
}

/** Stores a picture that models can look at in the folder of pictures. Throws the system's error. */
export async function inspectFile(path: string, declared: DeclaredFile, pictures: string): Promise<InspectedFile> {
  const file = await open(path)
  try {
    const { mimeType, extension } = await detectContent(file, declared)
    const kind = attachmentKindOf({ kind: 'document' }, mimeType)
    if (kind !== 'photo') return { kind, mimeType, extension }
    try {
      const image = await storePictureFile(pictures, path)
      return { kind, mimeType, extension, picture: { image, path: picturePath(pictures, image) } }
    } catch (error) {
      if (error instanceof PictureRefused) return { kind, mimeType, extension, problem: error.message }
      throw error
    }
  } finally {
    await file.close()
  }
}

/** Throws the system's error. */
export async function detectContent(file: FileHandle, { mimeType, fileName }: DeclaredFile = {}) {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(inspectedBytes), 0, inspectedBytes, 0)
  return await detectFileType(buffer.subarray(0, bytesRead), { kind: 'document', mimeType, fileName })
}
