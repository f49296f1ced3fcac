// The canvas: camera, light, comparison of two models, and frames that are drawn when something changed.

import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import type { Model, Mode } from './model';

export type Comparison = 'kernels' | 'original' | 'side' | 'slider' | 'difference' | 'error';

export interface Look {
  mode: Mode;
  comparison: Comparison;
  split: number;       // of the slider, 0 to 1
  gain: number;        // of differences
  background: string;  // auto, white, grey, black
  environment: string;  // room, studio, sky, even
  wireframe: boolean;
}

/** Pictures of a view at rest are means of this many, each moved by a part of a pixel: textures seen from afar do not alias. */
const MOST_SAMPLES = 32;

/** Frames that take longer than this are not repeated so often: a software renderer stays usable. */
const SLOW_MS = 250;

/** While something moves: at most so many, and only within so many milliseconds. */
const MOVING_SAMPLES = 4, MOVING_MS = 12;

/** Low-discrepancy offsets inside a pixel. */
function offset(i: number): [number, number] {
  return [((0.5 + i * 0.7548776662) % 1) - 0.5, ((0.5 + i * 0.5698402910) % 1) - 0.5];
}

const QUAD_VERTEX = /* glsl */`
varying vec2 at;
void main() { at = uv; gl_Position = vec4( position.xy, 0.0, 1.0 ); }
`;

/** Both pictures are linear with premultiplied alpha; what is behind them is added last. */
const QUAD_FRAGMENT = /* glsl */`
uniform sampler2D left, right;
uniform int comparison;
uniform float split, gain;
varying vec2 at;

/** heatColor() of the C++ library (rendering/colormap.cpp), linear. */
vec3 heat( float t ) {
  float hue = radians( mix( -72.0, 104.0, pow( t, 0.85 ) ) ), chroma = 0.02 + 0.48 * t * ( 1.0 - t ) + 0.07 * t, light = mix( 0.14, 0.96, t );
  float a = chroma * cos( hue ), b = chroma * sin( hue );
  vec3 lms = vec3( light + 0.3963377774 * a + 0.2158037573 * b, light - 0.1055613458 * a - 0.0638541728 * b, light - 0.0894841775 * a - 1.2914855480 * b );
  lms = lms * lms * lms;
  return clamp( vec3( 4.0767416621 * lms.x - 3.3077115913 * lms.y + 0.2309699292 * lms.z, -1.2684380046 * lms.x + 2.6097574011 * lms.y - 0.3413193965 * lms.z,
                      -0.0041960863 * lms.x - 0.7034186147 * lms.y + 1.7076147010 * lms.z ), 0.0, 1.0 );
}

vec3 encoded( vec3 c ) {
  c = clamp( c, 0.0, 1.0 );
  return mix( 1.055 * pow( c, vec3( 1.0 / 2.4 ) ) - 0.055, 12.92 * c, vec3( lessThanEqual( c, vec3( 0.0031308 ) ) ) );
}

void main() {
  vec4 a = texture2D( left, at ), b = texture2D( right, at );
  if ( comparison == 0 ) gl_FragColor = a;
  else if ( comparison == 1 ) gl_FragColor = b;
  else if ( comparison == 2 ) gl_FragColor = at.x < split ? a : b;
  else if ( comparison == 4 ) {
    vec3 apart = abs( encoded( a.rgb / max( a.a, 1e-4 ) ) - encoded( b.rgb / max( b.a, 1e-4 ) ) );
    float most = max( apart.x, max( apart.y, apart.z ) ) * 255.0 * gain / 128.0;
    gl_FragColor = vec4( heat( clamp( most, 0.0, 1.0 ) ), 1.0 ) * max( a.a, b.a );
  }
  else {
    vec3 x = pow( max( a.rgb, 0.0 ), vec3( 1.0 / 2.2 ) ), y = pow( max( b.rgb, 0.0 ), vec3( 1.0 / 2.2 ) );
    vec3 apart = min( gain * abs( x - y ), 1.0 );
    gl_FragColor = vec4( pow( apart, vec3( 2.2 ) ) * max( a.a, b.a ), max( a.a, b.a ) );
  }
}
`;

/** The same, for values from 0 to 1. */
export function heatLinear(value: number): [number, number, number] {
  const t = Math.min(Math.max(value, 0), 1), hue = (-72 + 176 * t ** 0.85) * Math.PI / 180, chroma = 0.02 + 0.48 * t * (1 - t) + 0.07 * t, light = 0.14 + 0.82 * t;
  const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
  const [l, m, s] = [light + 0.3963377774 * a + 0.2158037573 * b, light - 0.1055613458 * a - 0.0638541728 * b, light - 0.0894841775 * a - 1.2914855480 * b].map((x) => x ** 3);
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s];
  return linear.map((x) => Math.min(Math.max(x, 0), 1)) as [number, number, number];
}

/** And for the page's style. */
export function heatCss(t: number): string {
  return `rgb(${heatLinear(t).map((x) => Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)))})`;
}

const SHOW_FRAGMENT = /* glsl */`
uniform sampler2D picture;
uniform vec3 ground;
uniform float opaque;
varying vec2 at;
void main() {
  vec4 seen = texture2D( picture, at );
  gl_FragColor = vec4( seen.rgb / max( seen.a, 1e-6 ), 1.0 );
  #include <tonemapping_fragment>
  #include <colorspace_fragment>
  float alpha = mix( seen.a, 1.0, opaque );
  vec3 rgb = mix( ground, gl_FragColor.rgb, seen.a );
  gl_FragColor = opaque > 0.5 ? vec4( rgb, 1.0 ) : vec4( gl_FragColor.rgb * alpha, alpha );
}
`;

/** Places that light the object: none of them needs a file. */
function environmentScene(name: string): THREE.Scene {
  if (name === 'room') return new RoomEnvironment();
  const scene = new THREE.Scene();
  const glow = (color: THREE.Color) => new THREE.MeshBasicMaterial({ color, side: THREE.DoubleSide });
  const around = (material: THREE.Material) => scene.add(new THREE.Mesh(new THREE.SphereGeometry(50, 48, 24), material));
  if (name === 'sky') {
    around(new THREE.ShaderMaterial({
      side: THREE.BackSide, vertexShader: 'varying vec3 way; void main() { way = position; gl_Position = projectionMatrix * modelViewMatrix * vec4( position, 1.0 ); }',
      fragmentShader: `varying vec3 way;
        void main() {
          vec3 d = normalize( way );
          vec3 sky = mix( vec3( 0.95, 1.0, 1.1 ), vec3( 0.25, 0.48, 0.95 ), pow( max( d.y, 0.0 ), 0.6 ) ), ground = vec3( 0.32, 0.29, 0.25 );
          float sun = pow( max( dot( d, normalize( vec3( 0.5, 0.7, 0.5 ) ) ), 0.0 ), 220.0 );
          gl_FragColor = vec4( mix( ground, sky, smoothstep( -0.03, 0.03, d.y ) ) + 32.0 * sun * vec3( 1.0, 0.9, 0.72 ), 1.0 );
        }`,
    }));
  } else if (name === 'studio') {
    around(glow(new THREE.Color(0.16, 0.16, 0.17)));
    for (const [x, y, z, size, power] of [[-6, 5, 5, 6, 7], [7, 3, 3, 4, 4], [0, 9, -2, 7, 5], [1, 2, -9, 5, 3]]) {
      const lamp = new THREE.Mesh(new THREE.PlaneGeometry(size, size), glow(new THREE.Color(power, power, power)));
      lamp.position.set(x, y, z);
      lamp.lookAt(0, 0, 0);
      scene.add(lamp);
    }
  } else {
    around(glow(new THREE.Color(1, 1, 1)));
  }
  return scene;
}

class Quad {
  readonly scene = new THREE.Scene();
  readonly material: THREE.ShaderMaterial;
  private readonly camera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);

  constructor(fragmentShader: string, uniforms: Record<string, THREE.IUniform>, options: THREE.ShaderMaterialParameters = {}) {
    this.material = new THREE.ShaderMaterial({ vertexShader: QUAD_VERTEX, fragmentShader, uniforms, depthTest: false, depthWrite: false, ...options });
    const mesh = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), this.material);
    mesh.frustumCulled = false;
    this.scene.add(mesh);
  }

  draw(renderer: THREE.WebGLRenderer): void { renderer.render(this.scene, this.camera); }
}

export class Stage {
  readonly camera = new THREE.PerspectiveCamera(35, 1, 0.01, 100);
  readonly controls: OrbitControls;
  readonly renderer: THREE.WebGLRenderer;
  look: Look = { mode: 'lit', comparison: 'kernels', split: 0.5, gain: 4, background: 'auto', environment: 'room', wireframe: false };
  /** The last frame's time, for the statistics. */
  frameMs = 0;
  onFrame: () => void = () => {};
  mostSamples = MOST_SAMPLES;
  /** True: mostSamples was asked for, and is taken however slow the renderer is. */
  exactSamples = false;

  private kernels?: Model;
  private original?: Model;
  private readonly scenes = { kernels: new THREE.Scene(), original: new THREE.Scene() };
  private readonly targets: Record<'left' | 'right' | 'frame' | 'sum', THREE.WebGLRenderTarget>;
  private readonly combine = new Quad(QUAD_FRAGMENT, { left: { value: null }, right: { value: null }, comparison: { value: 0 }, split: { value: 0.5 }, gain: { value: 4 } },
                                      { blending: THREE.NoBlending });
  private readonly add = new Quad('uniform sampler2D picture; uniform float share; varying vec2 at; void main() { gl_FragColor = texture2D( picture, at ) * share; }',
                                  { picture: { value: null }, share: { value: 1 } },
                                  { transparent: true, blending: THREE.CustomBlending, blendSrc: THREE.OneFactor, blendDst: THREE.OneFactor });
  private readonly showing = new Quad(SHOW_FRAGMENT, { picture: { value: null }, ground: { value: new THREE.Color() }, opaque: { value: 1 } }, { blending: THREE.NoBlending });
  private readonly environments = new Map<string, THREE.Texture>();
  private samples = 0;
  private queued = false;
  private center = new THREE.Vector3();
  private radius = 1;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: false, alpha: true, premultipliedAlpha: true, powerPreference: 'high-performance' });
    this.renderer.autoClear = false;
    this.renderer.setClearColor(0x000000, 0);
    const target = (samples: number) => new THREE.WebGLRenderTarget(1, 1, { type: THREE.HalfFloatType, samples });
    this.targets = { left: target(4), right: target(4), frame: target(0), sum: new THREE.WebGLRenderTarget(1, 1, { type: THREE.FloatType }) };
    if (!this.renderer.extensions.has('EXT_float_blend')) this.targets.sum.texture.type = THREE.HalfFloatType;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener('change', () => this.changed());
    new ResizeObserver(() => this.changed()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.changed());
  }

  show(kernels: Model | undefined, original: Model | undefined): void {
    this.kernels = kernels;
    this.original = original;
    this.scenes.kernels.clear();
    this.scenes.original.clear();
    if (kernels) this.scenes.kernels.add(kernels.scene);
    if (original) this.scenes.original.add(original.scene);
    for (const scene of Object.values(this.scenes)) scene.updateMatrixWorld(true);
    const box = new THREE.Box3();
    for (const model of [kernels, original]) if (model) box.expandByObject(model.scene, true);
    if (!box.isEmpty()) {
      box.getCenter(this.center);
      this.radius = Math.max(box.getSize(new THREE.Vector3()).length() / 2, 1e-6);
    }
    this.apply();
  }

  /** After a change of `look`. */
  apply(): void {
    const mode = this.mode();
    this.kernels?.show(mode);
    this.original?.show(mode);
    this.kernels?.setWireframe(this.look.wireframe);
    this.original?.setWireframe(this.look.wireframe);
    this.changed();
  }

  /** Errors are those of colours and channels, not of light on them or lines over them. */
  private mode(): Mode {
    return this.look.comparison === 'error' && !this.look.mode.startsWith('channel:') ? 'unlit' : this.look.mode;
  }

  /** The light of the look, made when something is first drawn with it: without a graphics card it takes seconds. */
  private environment(): THREE.Texture {
    const name = this.look.environment;
    let made = this.environments.get(name);
    if (!made) {
      // Blurred by 2.3 degrees (0.04), which three texels of a face of 128 hold.
      made = new THREE.PMREMGenerator(this.renderer).fromScene(environmentScene(name), 0.04, 0.1, 100, { size: 128 }).texture;
      this.environments.set(name, made);
    }
    return made;
  }

  /** The whole object in view, from the direction the camera has, or from the front. */
  frame(direction?: THREE.Vector3): void {
    const from = direction ?? this.camera.position.clone().sub(this.controls.target);
    if (from.lengthSq() < 1e-20) from.set(0.5, 0.35, 1);
    const { width, height } = this.view(), narrow = Math.min(1, width / height * (this.look.comparison === 'side' ? 0.5 : 1));
    const distance = this.radius / Math.sin(THREE.MathUtils.degToRad(this.camera.fov / 2)) / narrow * 0.92;
    this.controls.target.copy(this.center);
    this.camera.position.copy(this.center).addScaledVector(from.normalize(), distance);
    this.controls.update();
    this.changed();
  }

  reset(): void { this.frame(new THREE.Vector3(0.5, 0.35, 1)); }

  /** Turns the camera about the target (radians), moves it (parts of the view's height) or zooms (a factor). */
  orbit(azimuth: number, altitude: number): void {
    const spherical = new THREE.Spherical().setFromVector3(this.camera.position.clone().sub(this.controls.target));
    spherical.theta += azimuth;
    spherical.phi = THREE.MathUtils.clamp(spherical.phi + altitude, 0.01, Math.PI - 0.01);
    this.camera.position.setFromSpherical(spherical).add(this.controls.target);
    this.controls.update();
    this.changed();
  }

  pan(x: number, y: number): void {
    const height = 2 * this.camera.position.distanceTo(this.controls.target) * Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2));
    const move = new THREE.Vector3(x * height, y * height, 0).applyQuaternion(this.camera.quaternion);
    this.camera.position.add(move);
    this.controls.target.add(move);
    this.controls.update();
    this.changed();
  }

  zoom(factor: number): void {
    this.camera.position.sub(this.controls.target).multiplyScalar(factor).add(this.controls.target);
    this.controls.update();
    this.changed();
  }

  /** Where a ray through a pixel (CSS pixels of the canvas) meets the kernels' surface: a triangle of the file and barycentric coordinates. */
  pick(x: number, y: number): { triangle: number; barycentric: number[]; point: THREE.Vector3 } | undefined {
    if (!this.kernels) return undefined;
    const { width, height } = this.canvas.getBoundingClientRect();
    let u = x / width;
    if (this.look.comparison === 'side') u = (u * 2) % 1;
    const ray = new THREE.Raycaster();
    // As the picture was drawn: boxes on a page have parts of pixels.
    this.setCamera(this.look.comparison === 'side' ? Math.max(1, Math.floor(this.canvas.width / 2)) : this.canvas.width, this.canvas.height);
    ray.setFromCamera(new THREE.Vector2(2 * u - 1, 1 - 2 * y / height), this.camera);
    for (const hit of ray.intersectObject(this.kernels.scene, true)) {
      const mesh = hit.object as THREE.Mesh, corners = mesh.geometry?.attributes?.heatskinCorner;
      if (!mesh.isMesh || !corners || !hit.face || !hit.barycoord) continue;
      const numbers = [hit.face.a, hit.face.b, hit.face.c].map((v) => Math.round(corners.getW(v)));
      const barycentric = [0, 0, 0];
      numbers.forEach((n, i) => { barycentric[n % 3] = [hit.barycoord!.x, hit.barycoord!.y, hit.barycoord!.z][i]; });
      return { triangle: Math.floor(numbers[0] / 3), barycentric, point: hit.point };
    }
    return undefined;
  }

  /** A picture of the view as PNG; size 0: that of the canvas. */
  async picture(size: number, transparent: boolean): Promise<Blob> {
    const { width, height } = this.view(), scale = size > 0 ? size / Math.max(width, height) : this.renderer.getPixelRatio();
    const w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(height * scale));
    const samples = this.wanted(2);
    // Into the canvas itself: three applies tone mapping and the display's colours nowhere else.
    this.renderer.setPixelRatio(1);
    this.renderer.setSize(w, h, false);
    this.samples = 0;
    for (let i = 0; i < samples; ++i) this.sample(w, h);
    this.renderer.setRenderTarget(null);
    this.present(!transparent);
    const blob = new Promise<Blob>((resolve, reject) =>
      this.canvas.toBlob((made) => made ? resolve(made) : reject(new Error('there is not enough memory for the picture')), 'image/png'));
    this.changed();
    return blob;
  }

  changed(): void {
    this.samples = 0;
    this.queue();
  }

  /** True when the picture will not change any more by itself. */
  get atRest(): boolean { return !this.queued; }

  private queue(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.draw(); });
  }

  private view(): { width: number; height: number } {
    return { width: Math.max(this.canvas.clientWidth, 1), height: Math.max(this.canvas.clientHeight, 1) };
  }

  private setCamera(width: number, height: number): void {
    const distance = this.camera.position.distanceTo(this.center);
    this.camera.aspect = width / height;
    this.camera.near = Math.max(distance - 1.5 * this.radius, 0.002 * this.radius);
    this.camera.far = distance + 1.5 * this.radius;
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
  }

  private draw(): void {
    const { width, height } = this.view(), ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (this.renderer.getPixelRatio() !== ratio || this.canvas.width !== Math.floor(width * ratio) || this.canvas.height !== Math.floor(height * ratio)) {
      this.renderer.setPixelRatio(ratio);
      this.renderer.setSize(width, height, false);
      this.samples = 0;
    }
    const start = performance.now();
    this.sample(this.canvas.width, this.canvas.height);
    // A moving picture is the mean of as many as there is time for: three quarters of a frame at 60 per second.
    this.renderer.getContext().finish();
    const once = performance.now() - start;
    for (let i = 1; i < MOVING_SAMPLES && this.samples < this.mostSamples && this.samples < MOVING_SAMPLES && (i + 1) * once < MOVING_MS; ++i)
      this.sample(this.canvas.width, this.canvas.height);
    this.renderer.setRenderTarget(null);
    this.present(true);
    this.renderer.getContext().finish();
    this.frameMs = performance.now() - start;
    this.onFrame();
    if (this.samples < this.wanted(4)) this.queue();
  }

  /** Pictures of a view at rest; fewer where they are slow. */
  private wanted(slow: number): number {
    return this.exactSamples ? this.mostSamples : Math.min(this.mostSamples, this.frameMs > SLOW_MS ? slow : MOST_SAMPLES);
  }

  /** Draws the view once more, moved by a part of a pixel, and adds it to the sum. */
  private sample(width: number, height: number): void {
    const { comparison } = this.look, { left, right, frame, sum } = this.targets, side = comparison === 'side';
    if (this.mode() === 'lit' && (this.kernels || this.original)) for (const scene of Object.values(this.scenes)) scene.environment = this.environment();
    const each = side ? Math.max(1, Math.floor(width / 2)) : width;
    this.setCamera(each, height);
    const [x, y] = offset(this.samples);
    this.camera.setViewOffset(each, height, x, y, each, height);
    if (comparison !== 'original') this.drawScene(this.scenes.kernels, left, each, height);
    if (comparison !== 'kernels') this.drawScene(this.scenes.original, right, each, height);
    this.camera.clearViewOffset();
    for (const target of [frame, sum]) if (target.width !== width || target.height !== height) target.setSize(width, height);
    this.renderer.setRenderTarget(frame);
    this.renderer.clear();
    const uniforms = this.combine.material.uniforms;
    Object.assign(uniforms.left, { value: left.texture });
    Object.assign(uniforms.right, { value: right.texture });
    uniforms.split.value = this.look.split;
    uniforms.gain.value = this.look.gain;
    if (side) {
      for (const i of [0, 1]) {
        frame.viewport.set(i * each, 0, each, height);
        this.renderer.setRenderTarget(frame);
        uniforms.comparison.value = i;
        this.combine.draw(this.renderer);
      }
      frame.viewport.set(0, 0, width, height);
    } else {
      uniforms.comparison.value = { kernels: 0, original: 1, slider: 2, difference: 3, error: 4 }[comparison as 'kernels'];
      this.combine.draw(this.renderer);
    }
    this.renderer.setRenderTarget(sum);
    if (this.samples === 0) this.renderer.clear();
    this.add.material.uniforms.picture.value = frame.texture;
    this.add.draw(this.renderer);
    ++this.samples;
  }

  private drawScene(scene: THREE.Scene, target: THREE.WebGLRenderTarget, width: number, height: number): void {
    if (target.width !== width || target.height !== height) target.setSize(width, height);
    this.renderer.setRenderTarget(target);
    this.renderer.clear();
    this.renderer.render(scene, this.camera);
  }

  /** The mean of the sum, tone-mapped if lit, before its background. */
  private present(opaque: boolean): void {
    const lit = this.look.mode === 'lit' && this.look.comparison !== 'difference' && this.look.comparison !== 'error';
    this.renderer.toneMapping = lit ? THREE.NeutralToneMapping : THREE.NoToneMapping;
    const { uniforms } = this.mean();
    uniforms.opaque.value = opaque ? 1 : 0;
    const [r, g, b] = this.ground();
    uniforms.ground.value.setRGB(r, g, b, THREE.LinearSRGBColorSpace);
    this.renderer.clear();
    this.showing.draw(this.renderer);
    this.renderer.toneMapping = THREE.NoToneMapping;
  }

  private mean(): THREE.ShaderMaterial {
    const { sum, frame } = this.targets, target = this.renderer.getRenderTarget();
    this.add.material.uniforms.picture.value = sum.texture;
    this.add.material.uniforms.share.value = 1 / this.samples;
    this.renderer.setRenderTarget(frame);
    this.renderer.clear();
    this.add.draw(this.renderer);
    this.add.material.uniforms.share.value = 1;
    this.renderer.setRenderTarget(target);
    this.showing.material.uniforms.picture.value = frame.texture;
    return this.showing.material;
  }

  /** The background in sRGB, 0 to 1. */
  private ground(): [number, number, number] {
    switch (this.look.background) {
      case 'white': return [1, 1, 1];
      case 'black': return [0, 0, 0];
      case 'grey': return [0.5, 0.5, 0.5];
      default: return matchMedia('(prefers-color-scheme: dark)').matches ? [0.137, 0.157, 0.176] : [0.906, 0.918, 0.929];
    }
  }
}
