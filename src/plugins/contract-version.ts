/**
 * The version of Hermes whose contract for plugins is implemented here; `requires_hermes` is compared with it.
 */
export const contractVersion = '0.21.3'
