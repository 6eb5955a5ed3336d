/**
 * Makes a picture that is too large for models smaller, so that a photo of a phone can be sent as it is. The new picture has no
 * metadata, such as the place where the photo was taken.
 */

/** The limits of models: bytes, and pixels of a side. */
const maxBytes = 5_000_000
const maxSide = 8_000
/** What models look at; they make larger pictures smaller themselves. */
const wantedSide = 2_048
const acceptedTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/**
 * The file itself when models can look at it, or when the browser cannot read it as a picture.
 *
 * @param {File} file
 * @returns {Promise<{ blob: Blob, name: string, type: string }>}
 */
export async function shrink(file) {
  const same = { blob: file, name: file.name, type: file.type }
  // The frames of an animation would be lost.
  if (!file.type.startsWith('image/') || file.type === 'image/svg+xml' || file.type === 'image/gif') return same
  /** @type {ImageBitmap} */
  let bitmap
  try {
    bitmap = await createImageBitmap(file)
  } catch {
    // Damaged, too large for the browser, or of a type that it does not know. The gateway says what it is.
    return same
  }
  const { width, height } = bitmap
  const fits = file.size <= maxBytes && Math.max(width, height) <= maxSide && acceptedTypes.includes(file.type)
  const blob = fits ? null : await draw(bitmap, Math.min(1, wantedSide / Math.max(width, height)))
  bitmap.close()
  return blob === null ? same : { blob, name: `${file.name.replace(/\.[^.]*$/, '')}.jpg`, type: 'image/jpeg' }
}

/** @param {ImageBitmap} bitmap @param {number} scale @returns {Promise<Blob | null>} */
function draw(bitmap, scale) {
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  const context = canvas.getContext('2d')
  if (context === null) return Promise.resolve(null)
  // JPEG has no transparency.
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.88))
}
